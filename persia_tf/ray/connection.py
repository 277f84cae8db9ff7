"""Connects a process of a Ray cluster, such as a trainer, with the servers."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ray

from persia_tf import errors
from persia_tf.base.addresses import DATA_VARIABLE, SHARDS_VARIABLE
from persia_tf.client import session
from persia_tf.credentials import auth
from persia_tf.credentials import tls as tls_lib
from persia_tf.ray.following import Follower, addresses_of
from persia_tf.ray.group import Group, ScaleFollower
from persia_tf.ray.token_files import token_file

_LOGGER = logging.getLogger("persia.ray")


@dataclasses.dataclass
class Connection:
    """Connects this process with a cluster's servers, for a `with` block.

    A connection can be sent to any task or actor of the Ray cluster. In its `with`
    block, the environment names the cluster's servers and their token, so that
    `ptf.Cluster()`, and layers without `cluster=`, use them. A thread follows servers
    that Ray restarts on another node. At the end of the block, the process's updates
    are applied.

    The block may be entered several times, but only once at a time in a process, since
    the environment is the process's. `ptf.ray.Cluster.connection` makes connections.

    Example:

    ```python
    connection = cluster.connection()

    @ray.remote
    def rows_of(table):
        with connection:
            return ptf.Table(table).rows
    ```

    Attributes:
        servers: For each shard, or for each embedding worker if there are any, the
            handles of the actors that know where it is.
        auth_token: The token of the servers.
        tls: The TLS files, whose paths are read on the node of the process; None for
            no TLS.
        timeout: Seconds that the block waits, when it is entered, for servers that Ray
            is restarting.
        dispatcher: The `"host:port"` of the dispatcher of data workers, which
            `$PERSIA_DATA` has in the block; None if there are none.
        group: The shards, as they are when the cluster is scaled; None if `servers` are
            embedding workers.
        numbers: The number of each server in `group`.
    """

    servers: Sequence[Sequence[Any]]
    auth_token: bytes = dataclasses.field(repr=False)
    tls: tls_lib.TLS | None
    timeout: float = 120.0
    dispatcher: str | None = None
    group: Group | None = None
    numbers: Sequence[int] = ()
    _entered: contextlib.ExitStack | None = dataclasses.field(default=None, repr=False)

    def __enter__(self) -> Connection:
        if self._entered is not None:
            raise RuntimeError(
                "this connection is in use by another `with` block: leave that block "
                "first, or make another connection with `cluster.connection()` for "
                "another process"
            )
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._connected())
            self._entered = stack.pop_all()
        return self

    def __exit__(self, *raised: Any) -> None:
        entered, self._entered = self._entered, None
        assert entered is not None
        entered.__exit__(*raised)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_entered": None}

    @contextlib.contextmanager
    def _connected(self) -> Iterator[None]:
        numbers, servers = self._present()
        addresses = self._addresses(servers)
        with token_file(self.auth_token) as path:
            variables: dict[str, str | None] = {
                SHARDS_VARIABLE: ",".join(addresses),
                auth.TOKEN_FILE_VARIABLE: path,
                # Not those that the node itself may have.
                **dict.fromkeys(tls_lib.VARIABLES.values()),
                **(self.tls.environment() if self.tls else {}),
                **({DATA_VARIABLE: self.dispatcher} if self.dispatcher else {}),
            }
            with environment(variables):
                follower = Follower(
                    *(servers, addresses),
                    # Programs know a server by its address at their start.
                    lambda index, now_at: session.move_shard(addresses[index], now_at),
                )
                scale_follower = self.group and ScaleFollower(
                    *(self.group, numbers),
                    lambda number: follower.forget(numbers.index(number)),
                    session.move_shard,
                )
                try:
                    yield
                    # A process of Ray may end without the `atexit` that flushes. This
                    # ends within the timeout of each session.
                    _LOGGER.debug("waiting until the servers have all updates")
                    session.flush_all()
                finally:
                    follower.stop()
                    if scale_follower:
                        scale_follower.stop()

    def _present(self) -> tuple[list[int], list[Sequence[Any]]]:
        """The servers now, and their numbers; shards may have come and gone."""
        if self.group is None:
            return [], list(self.servers)
        present = self.group.present()
        known = dict(zip(self.numbers, self.servers))
        found = {number: known[number] for number in known if number in present}
        added = self.group.added(known)
        found.update((number, actors) for number, (actors, _) in sorted(added.items()))
        if not found:  # They were stopped: those that are known will not answer.
            found = known
        return list(found), list(found.values())

    def _addresses(self, servers: Sequence[Sequence[Any]]) -> list[str]:
        try:
            return addresses_of(servers, self.timeout)
        except ray.exceptions.RayError as error:
            raise errors.UnavailableError(
                f"not all of the cluster's {len(servers)} servers answered within "
                f"{self.timeout:g} s: {error}. If a node died, its servers wait until "
                "another node has room for them"
            ) from error


@contextlib.contextmanager
def environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Sets environment variables for a `with` block; None removes a variable."""
    before = {name: os.environ.get(name) for name in variables}
    _set(variables)
    try:
        yield
    finally:
        _set(before)


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
