"""Runs `persia reshard`, while other threads use the cluster."""

from __future__ import annotations

import threading

from persia_tf.commands.main import parser


def reshard(present, shards, *options) -> None:
    """Runs the command; `present` are some shards of the cluster."""
    args = parser().parse_args(
        [
            "reshard",
            *("--from", present[0].address),
            *("--to", ",".join(shard.address for shard in shards)),
            *options,
        ]
    )
    assert args.run(args) == 0


class Repeated:
    """Calls a function again and again on a thread, until the end of a `with` block.

    An error of the function is raised at the end.
    """

    def __init__(self, call) -> None:
        self._call = call
        self._error: BaseException | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.calls = 0

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self._call()
                self.calls += 1
        except BaseException as error:
            self._error = error

    @property
    def is_running(self) -> bool:
        """Whether the calls go on: none has failed."""
        return self._thread.is_alive()

    def __enter__(self) -> Repeated:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._error is not None:
            raise self._error
