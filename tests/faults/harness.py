"""Processes that tests kill and restart.

    shard = ShardProcess(tmp_path)
    shard.start()
    shard.kill()
    shard.start()  # At the same address.

The fixtures `shard_process` and `start_proxies` (tests/conftest.py) end what they
started. tools/tcp_proxy.py stands for a bad network in front of a shard.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

PERSIA_PS = (sys.executable, "-m", "persia_tf.commands.main", "ps")
DEADLINE_SECONDS = 60


_used_ports: set[int] = set()


def is_used(port: int) -> bool:
    """Whether an earlier server had the port; also notes the port as used.

    This process keeps one session per address, with the options of the first test that
    used the address.
    """
    if port in _used_ports:
        return True
    _used_ports.add(port)
    return False


def wait_until(
    condition: Callable[[], object], what: str, seconds: float = DEADLINE_SECONDS
) -> None:
    """Waits for a condition; after `seconds`, fails with a message that says `what`."""
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up, f"gave up waiting for {what}"
        time.sleep(0.01)


def same_path() -> dict[str, str]:
    """Returns this process's environment, with the path on which it finds modules."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


class ShardProcess:
    """A server program in a process of its own, always at the same port of loopback.

    Args:
        folder: For its files; made, if it is not there.
        command: The program; it takes --port and --port-file as `persia ps` does.
        options: More of the command line.
        env: More of the environment.
    """

    def __init__(
        self,
        folder: Path,
        command: Sequence[str] = PERSIA_PS,
        options: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._port_file = folder / "port"
        self._log = folder / "log"
        # The program runs in its own folder: in the current one, Python would find the
        # package's sources before the installed package that is tested.
        self._folder = folder
        self._command = [os.path.abspath(command[0]), *command[1:], *options]
        self._env = {**same_path(), **(env or {})}
        self._process: subprocess.Popen | None = None
        self.port = 0

    @property
    def address(self) -> str:
        """The "host:port" at which it serves, also after a restart."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        """Its log output of all starts."""
        return self._log.read_text(errors="replace")

    @property
    def resident_bytes(self) -> int:
        """The memory that it holds now."""
        pages = Path(f"/proc/{self.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def start(self, options: Sequence[str] = ()) -> None:
        """Starts the program at its port, and waits until it serves.

        Args:
            options: More of the command line, of this start alone.
        """
        assert not self.is_running, "it runs already"
        self._port_file.unlink(missing_ok=True)
        ports = ["--port", str(self.port), "--port-file", str(self._port_file)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._command, *options, *ports],
                cwd=self._folder,
                env=self._env,
                stdout=log,
                stderr=log,
            )

        def serves() -> bool:
            assert self.is_running, f"it ended as it started:\n{self.log}"
            return self._port_file.exists()

        wait_until(serves, f"{self._command} to serve")
        self.port = int(self._port_file.read_text().split()[0])

    def kill(self) -> None:
        """Kills it by SIGKILL, in the middle of whatever it does."""
        self._process.kill()
        self._process.wait(DEADLINE_SECONDS)

    def stop(self) -> int:
        """Ends it by SIGTERM, as an operator would; returns its exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(DEADLINE_SECONDS)

    def end(self) -> None:
        """Ends it if it runs."""
        if self.is_running:
            self.kill()
