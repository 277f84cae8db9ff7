"""The program that `persia launch` runs: one process, or several workers of it."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterable, Mapping

from persia_tf.commands.children import Child, LoggedChild
from persia_tf.commands.free_ports import free_ports


class Programs:
    """The processes of a program; if there are several, `TF_CONFIG` makes them workers.

    The first process uses this process's terminal and standard streams. The output of
    the others goes to stderr, line by line.

    Args:
        argv: The program and its arguments.
        env: Its environment.
        workers: The number of processes.
        signal_mask: The signals that are blocked when they start.

    Raises:
        OSError: If the program cannot be run.
    """

    def __init__(
        self,
        argv: list[str],
        env: Mapping[str, str],
        workers: int,
        signal_mask: Iterable[int],
    ) -> None:
        envs = [env] if workers == 1 else _envs_of_workers(env, workers)
        self._first = Child(argv, envs[0], signal_mask)
        self._others = [
            LoggedChild(f"program {index}", argv, each, signal_mask)
            for index, each in enumerate(envs[1:], start=1)
        ]

    @property
    def children(self) -> list[Child]:
        """All processes, in order."""
        return [self._first, *self._others]

    def poll(self) -> int | None:
        """Returns the program's exit code, or None while it runs.

        It is the exit code of a process that failed, even if others still run, since
        these may wait for the failed one forever; or 0 if all have succeeded.
        """
        codes = [child.poll() for child in self.children]
        failed = [code for code in codes if code]
        if failed:
            return failed[0]
        return None if None in codes else 0

    def forward(self, received: signal.struct_siginfo) -> None:
        """Forwards a signal that this process received."""
        # A signal from the kernel comes from the terminal, which has also sent it to
        # the first process.
        is_of_terminal = received.si_code > 0
        for child in self._others if is_of_terminal else self.children:
            child.send(received.si_signo)

    def join_logs(self, seconds: float) -> None:
        """Waits until all output of the ended processes is copied.

        Args:
            seconds: The longest wait per process.
        """
        for child in self._others:
            child.join_log(seconds)


def _envs_of_workers(env: Mapping[str, str], count: int) -> list[Mapping[str, str]]:
    cluster = {"worker": [f"127.0.0.1:{port}" for port in free_ports(count)]}
    tasks = [{"type": "worker", "index": index} for index in range(count)]
    return [
        {**env, "TF_CONFIG": json.dumps({"cluster": cluster, "task": task})}
        for task in tasks
    ]
