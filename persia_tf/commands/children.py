"""Child processes of `persia launch` and of local clusters."""

from __future__ import annotations

import collections
import os
import signal
import threading
from collections.abc import Iterable, Mapping
from typing import Any

# Python ignores these signals; a program that it starts must not inherit that.
_RESTORED_SIGNALS = [signal.SIGPIPE, signal.SIGXFSZ]

_STDOUT, _STDERR = 1, 2

# How many of the last lines of a child's output messages show.
_SHOWN_LINES = 40

# The exit code of a child that other code in this process has already reaped, or whose
# SIGCHLD it ignores.
_UNKNOWN_EXIT_CODE = 255


class Child:
    """A process that this one started. Signals never go to any other process.

    It keeps the caller's terminal, standard streams and process group, so that
    Ctrl-C reaches it.

    Args:
        argv: The program and its arguments; the program is looked up in $PATH.
        env: Its environment.
        signal_mask: The signals that are blocked when it starts.

    Raises:
        OSError: If the program cannot be run.
    """

    def __init__(
        self,
        argv: list[str],
        env: Mapping[str, str],
        signal_mask: Iterable[int],
        **spawn_options: Any,
    ) -> None:
        # Unlike `subprocess`, this sets the child's signal mask without running Python
        # between fork and exec, where locks of other threads may be held.
        self.pid = os.posix_spawnp(
            argv[0],
            argv,
            env,
            setsigmask=signal_mask,
            setsigdef=_RESTORED_SIGNALS,
            **spawn_options,
        )
        self._exit_code: int | None = None

    def poll(self) -> int | None:
        """Returns the exit code, 128 + n after signal n; None while it runs."""
        return self._reap(os.WNOHANG)

    def wait(self) -> int:
        """Waits until the process has ended, and returns the same code as `poll`."""
        code = self._reap(0)
        assert code is not None
        return code

    def send(self, signum: int) -> None:
        """Sends a signal, unless the process has ended."""
        # As long as the child is not reaped, no other process can get its id.
        if self.poll() is None:
            os.kill(self.pid, signum)

    def _reap(self, options: int) -> int | None:
        if self._exit_code is None:
            try:
                pid, status = os.waitpid(self.pid, options)
            except ChildProcessError:
                self._exit_code = _UNKNOWN_EXIT_CODE
                return self._exit_code
            if pid:
                code = os.waitstatus_to_exitcode(status)
                self._exit_code = code if code >= 0 else 128 - code
        return self._exit_code


class LoggedChild(Child):
    """A child in the background, whose output goes to stderr line by line.

    It runs in its own session, so that Ctrl-C does not reach it.

    Args:
        name: The prefix of each line, which is put in brackets.
        argv: As for `Child`.
        env: As for `Child`.
        signal_mask: As for `Child`.

    Raises:
        OSError: If the program cannot be run.
    """

    def __init__(
        self,
        name: str,
        argv: list[str],
        env: Mapping[str, str],
        signal_mask: Iterable[int],
    ) -> None:
        self.name = name
        reader, writer = os.pipe()
        try:
            super().__init__(
                argv,
                env,
                signal_mask,
                setsid=True,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, writer, _STDOUT),
                    (os.POSIX_SPAWN_DUP2, writer, _STDERR),
                ],
            )
        except OSError:
            os.close(reader)
            raise
        finally:
            os.close(writer)
        self._lines: collections.deque[bytes] = collections.deque(maxlen=_SHOWN_LINES)
        self._copier = threading.Thread(
            target=self._copy_log, args=(reader,), daemon=True
        )
        self._copier.start()

    @property
    def log(self) -> str:
        """The last lines of its output."""
        return b"\n".join(self._lines).decode(errors="replace")

    def join_log(self, seconds: float) -> None:
        """Waits until all output is copied, after the process has ended.

        Args:
            seconds: The longest wait.
        """
        self._copier.join(seconds)

    def _copy_log(self, reader: int) -> None:
        prefix = f"[{self.name}] ".encode()
        with open(reader, "rb") as log:
            for line in log:
                self._lines.append(line.rstrip(b"\r\n"))
                # One write per line, so that lines of two shards do not mix.
                try:
                    os.write(_STDERR, prefix + self._lines[-1] + b"\n")
                except OSError:
                    pass  # Keep reading: a full pipe would block the shard.
