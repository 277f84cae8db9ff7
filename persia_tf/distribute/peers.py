"""Finds out which other workers of a cluster do not answer."""

from __future__ import annotations

import functools
import re
import socket
from collections.abc import Mapping
from concurrent import futures
from typing import Any

from persia_tf import errors
from persia_tf.base import addresses

# How a report begins, also where TensorFlow passes it on to other workers.
REPORT_BEGINS = "The other workers were asked:"
_ANSWER_SECONDS = 3.0
_MOST_THREADS = 64
# What a client of HTTP/2 sends first: the preface, and settings that change nothing. A
# server replies with its settings.
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
_TASK = re.compile(r"/job:(\w+)/(?:replica:\d+/)?task:(\d+)")


class Peers:
    """The other workers of a cluster.

    Args:
        workers: Their "host:port"s, by names such as "worker 1".
        answer_seconds: How long each has to answer.
    """

    def __init__(
        self, workers: Mapping[str, str], answer_seconds: float = _ANSWER_SECONDS
    ) -> None:
        self._workers = dict(workers)
        self._answer_seconds = answer_seconds

    @classmethod
    def of(cls, resolver: Any) -> Peers:
        """Returns the other workers that a `ClusterResolver` lists."""
        spec = resolver.cluster_spec()
        own = (resolver.task_type, resolver.task_id)
        return cls(
            {
                f"{job} {index}": spec.task_address(job, index)
                for job in spec.jobs
                for index in spec.task_indices(job)
                if (job, index) != own
            }
        )

    def report(self, message: str) -> str:
        """Asks all of them, and says which ones have ended or do not answer.

        Each worker is a gRPC server of TensorFlow, which answers while the process
        lives, whatever its program does. They are asked once: later reports are the
        same.

        Args:
            message: TensorFlow's error. It may name the task that was lost first, while
                others have ended since because of it.
        """
        return self._report(_lost_task(message))

    @functools.cache  # noqa: B019 - A process has one object of this class.
    def _report(self, lost: str | None) -> str:
        states = self._states()
        if lost in states:
            alive = "an exchange with it has failed, but its process answers"
            states = {lost: states.pop(lost) or alive, **states}
        failed = [
            f"{name} ({self._workers[name]}): {state}"
            for name, state in states.items()
            if state is not None
        ]
        if not failed:
            failed = ["all answer, so one has raised an error, or is slow"]
        return f"{REPORT_BEGINS} {'; '.join(failed)}. See the logs of the other workers"

    def _states(self) -> dict[str, str | None]:
        """Returns what is wrong with each worker, or None."""
        pool = futures.ThreadPoolExecutor(_MOST_THREADS, "persia-peers")
        asked = {
            name: pool.submit(_state, address, self._answer_seconds)
            for name, address in self._workers.items()
        }
        states = {name: answer.result() for name, answer in asked.items()}
        pool.shutdown(wait=False)
        return states


def _lost_task(message: str) -> str | None:
    """Returns the name of the worker that an error of TensorFlow is about, or None.

    A worker passes the error of another one on, and adds its own task. So the first
    task is the one that the first error was about.
    """
    found = _TASK.search(message)
    return None if found is None else f"{found[1]} {found[2]}"


def _state(address: str, seconds: float) -> str | None:
    try:
        host, port = addresses.parse(address)
        with socket.create_connection((host, port), seconds) as connection:
            return _state_of_connected(connection)
    except ConnectionRefusedError:
        return "it has ended, since nothing listens on its port"
    except (OSError, errors.InvalidArgumentError) as error:
        return f"it cannot be reached ({error})"


def _state_of_connected(connection: socket.socket) -> str | None:
    """Returns what is wrong with a worker whose port accepts connections.

    The system accepts them for a process that is stopped too, and for one that is just
    ending.
    """
    try:
        connection.sendall(_HELLO)
        if connection.recv(1):
            return None
    except TimeoutError:
        return "it does not answer, so its process is stopped, or has no time"
    except ConnectionError:
        pass
    return "it has ended, since it has closed the connection"
