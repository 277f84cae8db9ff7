"""The actors of tf.data service: the dispatcher, and data workers.

The dispatcher runs on the driver's node, since trainers know it by its address alone:
so it is lost with the driver only, with which everything ends. When its process ends,
Ray restarts it there, and it goes on at the same port from its journal.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from persia_tf import errors
from persia_tf.base import addresses
from persia_tf.processes import log, loopback, tensorflow_settings
from persia_tf.processes.free_ports import free_ports
from persia_tf.ray.servers import Addressed, until_it_starts

if TYPE_CHECKING:
    from persia_tf.data.remote.servers import DataWorker as Server
    from persia_tf.data.remote.servers import Dispatcher as DispatchServer


def check_nodes_are_private() -> None:
    """Checks that each node of Ray is reached by programs of this machine alone.

    Raises:
        InvalidArgumentError: If other machines can reach one.
    """
    hosts = [node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]]
    others = [host for host in hosts if not loopback.is_loopback(host)]
    if others:
        raise errors.InvalidArgumentError(
            "`data_workers` need `insecure=True`: tf.data service has neither a token "
            "nor TLS, so every program that reaches a node, such as "
            f"{others[0]}, could run TensorFlow's ops there, which read and write the "
            "files of Ray's user. Give it if every program in this network is trusted"
        )


@dataclasses.dataclass(frozen=True)
class Hosting:
    """What the servers of a `DataService` have in common.

    Attributes:
        log_level: The lowest level that they log.
        is_private: Whether they refuse connections from other machines.
        folder: The folder of the dispatcher's journal and of the servers' ports, which
            all nodes share.
    """

    log_level: str
    is_private: bool
    folder: str


class _DataActor(Addressed):
    """A server of tf.data service.

    Args:
        name: The server's name in logs, and of the file with its port.
        hosting: What it has in common with other servers.
        start: A function that starts and returns the server on a host and a port.
    """

    def __init__(
        self,
        name: str,
        hosting: Hosting,
        start: Callable[[str, int], Server | DispatchServer],
    ) -> None:
        formatter = log.start(hosting.log_level, f"persia.data.{name}")
        tensorflow_settings.reduce_log()
        tensorflow_settings.hide_gpus()
        host = ray.util.get_node_ip_address()

        def keep() -> None:
            port = _port_of(Path(hosting.folder), f"{name}-{host}")
            self._server = start(host, port)

        until_it_starts(keep)
        formatter.place = self._address = str(self._server.address)


class Dispatcher(_DataActor):
    """The dispatcher.

    Args:
        hosting: See `_DataActor`.
    """

    def __init__(self, hosting: Hosting) -> None:
        def start(host: str, port: int) -> DispatchServer:
            from persia_tf.data.remote import servers

            journal = os.path.join(hosting.folder, "journal")
            return servers.Dispatcher(host, port, hosting.is_private, journal)

        super().__init__("dispatcher", hosting, start)


def _port_of(folder: Path, name: str) -> int:
    """Returns the port that a file in a folder has, or writes a free one to the file.

    So a server that is restarted on the same node has the same address.
    """
    record = folder / name
    if not record.exists():
        folder.mkdir(parents=True, exist_ok=True)
        record.write_text(str(free_ports(1)[0]))
    return int(record.read_text())


class DataWorker(_DataActor):
    """A data worker.

    Args:
        index: Its index among all data workers.
        hosting: See `_DataActor`.
        dispatcher: The dispatcher's `"host:port"`.
    """

    def __init__(self, index: int, hosting: Hosting, dispatcher: str) -> None:
        def start(host: str, port: int) -> Server:
            from persia_tf.data.remote import servers

            address = addresses.parse(dispatcher)
            servers.wait_for_dispatcher(address)
            return servers.DataWorker(host, port, hosting.is_private, address)

        super().__init__(f"worker-{index}", hosting, start)


class DataService:
    """A dispatcher and data workers; the constructor begins to start the dispatcher.

    Args:
        hosting: What the servers have in common.

    Attributes:
        dispatcher: The handle of the dispatcher's actor.
        workers: The handles of the data workers' actors.
    """

    def __init__(self, hosting: Hosting) -> None:
        self._hosting = hosting
        here = ray.get_runtime_context().get_node_id()
        self.dispatcher = (
            ray.remote(Dispatcher)
            .options(
                num_cpus=0,
                max_restarts=-1,
                scheduling_strategy=NodeAffinitySchedulingStrategy(here, soft=False),
            )
            .remote(hosting)
        )
        self.workers: list[Any] = []

    def start_workers(
        self, make: Sequence[Callable[..., Any]], dispatcher: str
    ) -> None:
        """Begins to start the data workers.

        Args:
            make: For each worker, the function that makes its actor.
            dispatcher: The dispatcher's address.
        """
        self.workers = [
            each(index, self._hosting, dispatcher) for index, each in enumerate(make)
        ]

    def stop(self) -> None:
        """Ends the dispatcher; the workers end with their placement group."""
        ray.kill(self.dispatcher)
