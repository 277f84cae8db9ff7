"""The program that `persia launch` runs: one process, or several workers of it."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterable, Mapping

from persia_tf.commands.children import Child, LoggedChild
from persia_tf.commands.free_ports import free_ports


class Programs:
    """Processes of one program, which `TF_CONFIG` makes workers if there are several.

    The first one has this process's terminal and standard streams. What the others
    print goes to stderr, line by line.

    Args:
        argv: The program and its arguments.
        env: Its environment.
        workers: How many.
        signal_mask: The signals that they start with blocked.

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
        """All of them, the first one first."""
        return [self._first, *self._others]

    def poll(self) -> int | None:
        """Gives the exit code of one that failed, 0 if all have ended well, else None.

        The workers of a program that has failed on one wait for that one.
        """
        codes = [child.poll() for child in self.children]
        failed = [code for code in codes if code]
        if failed:
            return failed[0]
        return None if None in codes else 0

    def forward(self, received: signal.struct_siginfo) -> None:
        """Passes a signal on that this process got."""
        # What the kernel sends comes from the terminal, which has sent it to the
        # first one too.
        is_of_terminal = received.si_code > 0
        for child in self._others if is_of_terminal else self.children:
            child.send(received.si_signo)

    def join_logs(self, seconds: float) -> None:
        """Waits until the output of those that ended is all copied."""
        for child in self._others:
            child.join_log(seconds)


def _envs_of_workers(env: Mapping[str, str], count: int) -> list[Mapping[str, str]]:
    cluster = {"worker": [f"127.0.0.1:{port}" for port in free_ports(count)]}
    tasks = [{"type": "worker", "index": index} for index in range(count)]
    return [
        {**env, "TF_CONFIG": json.dumps({"cluster": cluster, "task": task})}
        for task in tasks
    ]
