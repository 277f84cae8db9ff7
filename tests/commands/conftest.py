"""Fixtures that run `persia` as real processes and end them with the test."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from persia_tf.native import capi

DEADLINE_SECONDS = 60
PACKAGE_PARENT = str(Path(capi.__file__).parents[2])
PYTHONPATH = os.pathsep.join(
    filter(None, [PACKAGE_PARENT, os.environ.get("PYTHONPATH")])
)


def _wait_until(condition, what):
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"gave up waiting for {what()}"
        time.sleep(0.01)


def _alive(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    # A zombie whose parent does not reap it has ended all the same.
    return stat.rpartition(")")[2].split()[0] not in "ZX"


class Command:
    """A running `persia` process."""

    def __init__(self, folder, args, env, python_options):
        self._stdout, self._stderr = folder / "stdout", folder / "stderr"
        with self._stdout.open("wb") as out, self._stderr.open("wb") as err:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, *python_options),
                    *("-m", "persia_tf.commands.main"),
                    *map(str, args),
                ],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**os.environ, "PYTHONPATH": PYTHONPATH, **env},
                start_new_session=True,
            )

    @property
    def pid(self):
        return self._process.pid

    @property
    def running(self):
        return self._process.poll() is None

    @property
    def stdout(self):
        return self._stdout.read_text()

    @property
    def stdout_bytes(self):
        return self._stdout.read_bytes()

    @property
    def stderr(self):
        return self._stderr.read_text()

    def wait_for(self, pattern, count=1, stream="stderr"):
        """Waits for `count` matches of a pattern in the output; gives the matches."""

        def found():
            # Read before the output, so that the last output of a process counts too.
            ended = not self.running
            matches = list(re.finditer(pattern, getattr(self, stream)))
            if len(matches) >= count:
                return matches
            assert not ended, f"ended without {count} {pattern!r}:\n{self.stderr}"
            return None

        return _wait_until(found, lambda: f"{pattern!r}, stderr is:\n{self.stderr}")

    def send(self, signum):
        self._process.send_signal(signum)

    def wait(self):
        """The exit code, as `subprocess` gives it."""
        return self._process.wait(DEADLINE_SECONDS)

    def end(self):
        if self.running:
            self._process.kill()
        self._process.wait()


@pytest.fixture(autouse=True, scope="session")
def signals_not_ignored():
    """A test run in the background may ignore SIGINT; children inherit that."""
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(signum) == signal.SIG_IGN:
            signal.signal(signum, signal.SIG_DFL)


@pytest.fixture
def persia(tmp_path):
    """Starts `persia` with some arguments; ends it with the test."""
    started = []

    def start(*args, env=(), python_options=()):
        folder = tmp_path / f"persia{len(started)}"
        folder.mkdir()
        started.append(Command(folder, args, dict(env), python_options))
        return started[-1]

    yield start
    for command in started:
        command.end()


@pytest.fixture
def start_server(persia):
    """Starts a server by its role; gives the command, its data and control address."""

    def start(role, *args):
        command = persia(role, "--port=0", *args)
        (log,) = command.wait_for(r"listening on (\S+); health checks on (\S+)")
        return command, log[1], log[2]

    return start


@pytest.fixture
def start_ps(start_server):
    """Starts a shard in the same way."""
    return lambda *args: start_server("ps", *args)


@pytest.fixture
def unused_address():
    """An address that no server uses, and that stays reserved during the test."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


@pytest.fixture
def wait_until():
    """Waits for a condition, with a deadline."""
    return lambda condition, what: _wait_until(condition, lambda: what)


@pytest.fixture
def alive():
    """Returns whether a process with this id is running."""
    return _alive


@pytest.fixture
def terminate():
    """Ends a process by SIGTERM; gives its exit code."""

    def end(command):
        command.send(signal.SIGTERM)
        return command.wait()

    return end
