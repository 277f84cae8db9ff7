"""A server of a command of `persia` on this machine that can be restarted."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from persia_tf.base.addresses import Address
from persia_tf.processes.children import LoggedChild
from persia_tf.processes.free_ports import free_ports


class LaunchedServer:
    """A server process, started by the constructor. A restart keeps the server's port.

    Attributes:
        name: The server's name, such as `"ps 0"`, or `"ps 0b"` if it started as a
            standby. It does not change with the role.
        child: The process, a new one after each restart.
        is_shard: Whether the server is a shard or a standby.
        is_standby: Whether the server is a standby now. Whoever changes its role sets
            it.

    Args:
        command: The command of `persia`: `"ps"`, `"worker"`, `"data dispatcher"` or
            `"data worker"`.
        index: The server's index among the servers of the same command.
        options: Further command-line options.
        folder: The folder of the file into which the server writes its port.
        env: The server's environment variables.
        signal_mask: The signals that are blocked when the server starts.
        is_standby: Whether the server is the standby of the shard with this index.

    Raises:
        OSError: If the process cannot be run.
    """

    def __init__(
        self,
        command: str,
        index: int,
        options: list[str],
        folder: Path,
        env: Mapping[str, str],
        signal_mask: set[int],
        is_standby: bool = False,
    ) -> None:
        self.name = f"{command} {index}{'b' if is_standby else ''}"
        self.is_shard = command == "ps"
        self.is_standby = is_standby
        self._is_of_data = command.startswith("data ")
        self._port_file = folder / self.name
        self._argv = [sys.executable, "-m", "persia_tf.commands.main"]
        self._argv += command.split()
        self._argv += [f"--port-file={self._port_file}", f"--parent={os.getpid()}"]
        self._argv += options
        self._more: list[str] = []
        self._env = env
        self._signal_mask = signal_mask
        # TensorFlow's import takes seconds, during which a restarted server does not
        # listen: so it needs a port that the system gives nobody else meanwhile.
        self._start(free_ports(1)[0] if self._is_of_data else 0)

    @property
    def title(self) -> str:
        """The server's name in messages."""
        if self.is_standby:
            return f"standby {self.name}"
        return f"shard {self.name}" if self.is_shard else self.name

    @property
    def loses_nothing(self) -> bool:
        """Whether a restarted server goes on as if its process had not ended."""
        return self._is_of_data

    @property
    def listens(self) -> bool:
        """Whether the server has begun to listen since its last start or restart."""
        return self._port_file.exists()

    @functools.cached_property
    def address(self) -> Address:
        """The address on which the server listens; available once `listens` is true."""
        return Address("127.0.0.1", int(self._port_file.read_text().split()[0]))

    def told_end(self, code: int) -> str:
        """Returns the begin of a message about the server's end."""
        return (
            f"{self.title} ({self.address}, pid {self.child.pid}) ended with exit code "
            f"{code}"
        )

    def restart(self, more: Sequence[str] | None = None) -> None:
        """Starts the server again on the same port. Its process must have ended.

        Args:
            more: Command-line options that follow those of the constructor, and
                override them; None for those of the last start.
        """
        port = self.address.port
        if more is not None:
            self._more = list(more)
        # Remove the port file, so that `listens` is false until the new process
        # listens.
        self._port_file.unlink(missing_ok=True)
        self._start(port)

    def _start(self, port: int) -> None:
        argv = [*self._argv, *self._more, f"--port={port}"]
        self.child = LoggedChild(self.name, argv, self._env, self._signal_mask)
