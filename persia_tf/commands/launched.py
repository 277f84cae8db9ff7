"""A shard or a worker of this machine that was started, and is started again."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from persia_tf.addresses import Address
from persia_tf.commands.children import LoggedChild


class LaunchedServer:
    """A server process at one port for good, started when it is made.

    Args:
        command: Of `persia`: `"ps"` or `"worker"`.
        index: Of its kind.
        options: More of its command line.
        folder: For its port file.
        env: Its environment.
        signal_mask: The signals that it starts with blocked.

    Raises:
        OSError: If it cannot be run.
    """

    def __init__(
        self,
        command: str,
        index: int,
        options: list[str],
        folder: Path,
        env: Mapping[str, str],
        signal_mask: set[int],
    ) -> None:
        self.name = f"{command} {index}"
        self.is_shard = command == "ps"
        self._port_file = folder / self.name
        self._argv = [sys.executable, "-m", "persia_tf.commands.main", command]
        self._argv += [f"--port-file={self._port_file}", f"--parent={os.getpid()}"]
        self._argv += options
        self._env = env
        self._signal_mask = signal_mask
        self._start(port=0)

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"shard {self.name}" if self.is_shard else self.name

    @property
    def listens(self) -> bool:
        """Whether it has begun to."""
        return self._port_file.exists()

    @functools.cached_property
    def address(self) -> Address:
        """Where it listens, once it does."""
        return Address("127.0.0.1", int(self._port_file.read_text().split()[0]))

    def restart(self) -> None:
        """Starts it again where it listened. It must have ended."""
        port = self.address.port
        # Whether this start comes to listen must be seen.
        self._port_file.unlink()
        self._start(port)

    def _start(self, port: int) -> None:
        argv = [*self._argv, f"--port={port}"]
        self.child = LoggedChild(self.name, argv, self._env, self._signal_mask)
