"""Child processes of `persia launch` and of local clusters."""

from __future__ import annotations

import collections
import os
import signal
import threading
from collections.abc import Iterable, Mapping
from typing import Any

# Python ignores these signals, and a child process would inherit this setting. So the
# default actions of these signals are restored in the child.
_RESTORED_SIGNALS = [signal.SIGPIPE, signal.SIGXFSZ]

_STDOUT, _STDERR = 1, 2

# The number of lines from the end of a child's output that error messages include.
_SHOWN_LINES = 40

# The exit code to report for a child whose real code is lost, because other code in
# this process has already reaped the child, or has set SIGCHLD to be ignored.
_UNKNOWN_EXIT_CODE = 255


class Child:
    """A child process, started by the constructor.

    The child inherits the caller's terminal, standard streams and process group, so
    that Ctrl-C also reaches the child.

    Args:
        argv: The program and its arguments; the program is looked up in $PATH.
        env: The child's environment variables.
        signal_mask: The signals that are blocked when the child starts.

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
        # `subprocess` could set the child's signal mask only by Python code that runs
        # between fork and exec. Such code may deadlock on locks that other threads held
        # at the fork; `posix_spawnp` runs no Python code there.
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
        """Returns the exit code of the child, or None while the child runs.

        The code is 128 + n if signal n killed the child.
        """
        return self._reap(os.WNOHANG)

    def wait(self) -> int:
        """Waits until the child has ended, and returns the same code as `poll`."""
        code = self._reap(0)
        assert code is not None
        return code

    def send(self, signum: int) -> None:
        """Sends a signal to the child, unless the child has ended."""
        # If `poll` returns None, the child has not been reaped, so no other process can
        # have its id and get the signal.
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

    The child runs in its own session, so that Ctrl-C does not reach the child.

    Args:
        name: The child's name, which precedes each line in brackets.
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
        """The last lines of the child's output."""
        return b"\n".join(self._lines).decode(errors="replace")

    def join_log(self, seconds: float) -> None:
        """Waits until all output of an ended child is copied to stderr.

        Args:
            seconds: The maximum number of seconds to wait.
        """
        self._copier.join(seconds)

    def _copy_log(self, reader: int) -> None:
        prefix = f"[{self.name}] ".encode()
        with open(reader, "rb") as log:
            for line in log:
                self._lines.append(line.rstrip(b"\r\n"))
                # Write each line by a single call, so that lines of several children do
                # not mix.
                try:
                    os.write(_STDERR, prefix + self._lines[-1] + b"\n")
                except OSError:
                    # Ignore the error and continue to read the pipe: if the pipe were
                    # full, the child would block.
                    pass
