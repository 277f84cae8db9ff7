"""Runs the program of `persia launch`, in one process or as several workers."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterable, Mapping

from persia_tf.base.addresses import METRICS_PORT_VARIABLE
from persia_tf.processes.children import Child, LoggedChild
from persia_tf.processes.free_ports import free_ports


class Programs:
    """The processes of a program, started by the constructor.

    If there are several processes, each gets a `TF_CONFIG` that makes it a worker. The
    first process uses this process's terminal and standard streams. The output of the
    other processes is copied to stderr line by line.

    Args:
        argv: The program and its arguments.
        env: The program's environment variables.
        workers: The number of processes.
        signal_mask: The signals that are blocked when the processes start.
        metrics_port: The port of metrics of the first process; the others have the
            ports after it. 0 means any free port, None no metrics.

    Raises:
        OSError: If the program cannot be run.
    """

    def __init__(
        self,
        argv: list[str],
        env: Mapping[str, str],
        workers: int,
        signal_mask: Iterable[int],
        metrics_port: int | None = None,
    ) -> None:
        envs = [env] if workers == 1 else _envs_of_workers(env, workers)
        if metrics_port is not None:
            envs = _with_metrics(envs, metrics_port)
        self._first = Child(argv, envs[0], signal_mask)
        self._others = [
            LoggedChild(f"program {index}", argv, each, signal_mask)
            for index, each in enumerate(envs[1:], start=1)
        ]

    @property
    def children(self) -> list[Child]:
        """All processes of the program, in the order of their worker index."""
        return [self._first, *self._others]

    def poll(self) -> int | None:
        """Returns the program's exit code, or None while the program runs.

        If a process has failed, the result is that process's exit code, even if other
        processes still run, since they may wait for the failed process forever. If all
        processes have succeeded, the result is 0.
        """
        codes = [child.poll() for child in self.children]
        failed = [code for code in codes if code]
        if failed:
            return failed[0]
        return None if None in codes else 0

    def forward(self, received: signal.struct_siginfo) -> None:
        """Forwards a signal that this process received to the program's processes."""
        # A positive `si_code` means that the kernel sent the signal because of the
        # terminal, for instance at Ctrl-C. The first process is attached to the same
        # terminal and has received the signal too, so forward it only to the others.
        is_of_terminal = received.si_code > 0
        for child in self._others if is_of_terminal else self.children:
            child.send(received.si_signo)

    def join_logs(self, seconds: float) -> None:
        """Waits until all output of the ended processes is copied to stderr.

        Args:
            seconds: The maximum number of seconds to wait for each process.
        """
        for child in self._others:
            child.join_log(seconds)


def _with_metrics(
    envs: Iterable[Mapping[str, str]], first_port: int
) -> list[Mapping[str, str]]:
    return [
        {**env, METRICS_PORT_VARIABLE: str(first_port + index if first_port else 0)}
        for index, env in enumerate(envs)
    ]


def _envs_of_workers(env: Mapping[str, str], count: int) -> list[Mapping[str, str]]:
    cluster = {"worker": [f"127.0.0.1:{port}" for port in free_ports(count)]}
    tasks = [{"type": "worker", "index": index} for index in range(count)]
    return [
        {**env, "TF_CONFIG": json.dumps({"cluster": cluster, "task": task})}
        for task in tasks
    ]
