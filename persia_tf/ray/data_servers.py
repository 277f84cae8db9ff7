"""The actors of tf.data service: the dispatcher, and data workers.

The dispatcher runs on the driver's node, since trainers know it by its address alone:
so it is lost with the driver only, with which everything ends. When its process ends,
Ray restarts it there, and it goes on at the same port from its journal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from persia_tf.base import addresses
from persia_tf.processes import log, tensorflow_settings
from persia_tf.processes.free_ports import free_ports
from persia_tf.ray.servers import Addressed, until_it_starts

if TYPE_CHECKING:
    from persia_tf.data.remote.servers import DataWorker as Server
    from persia_tf.data.remote.servers import Dispatcher as DispatchServer


class _DataActor(Addressed):
    """A server of tf.data service.

    Args:
        name: The server's name in logs.
        log_level: The lowest level that it logs.
        start: A function that starts and returns the server on a host.
    """

    def __init__(
        self,
        name: str,
        log_level: str,
        start: Callable[[str], Server | DispatchServer],
    ) -> None:
        formatter = log.start(log_level, name)
        tensorflow_settings.reduce_log()
        tensorflow_settings.hide_gpus()
        host = ray.util.get_node_ip_address()

        def keep() -> None:
            self._server = start(host)

        until_it_starts(keep)
        formatter.place = self._address = str(self._server.address)


class Dispatcher(_DataActor):
    """The dispatcher.

    Args:
        log_level: See `_DataActor`.
        folder: The folder of its journal and its port.
    """

    def __init__(self, log_level: str, folder: str) -> None:
        def start(host: str) -> DispatchServer:
            from persia_tf.data.remote import servers

            port = _port_of(Path(folder))
            return servers.Dispatcher(host, port, os.path.join(folder, "journal"))

        super().__init__("persia.data.dispatcher", log_level, start)


def _port_of(folder: Path) -> int:
    """Returns the port that was recorded in a folder, or records a free one."""
    record = folder / "port"
    if not record.exists():
        folder.mkdir(parents=True, exist_ok=True)
        record.write_text(str(free_ports(1)[0]))
    return int(record.read_text())


class DataWorker(_DataActor):
    """A data worker.

    Args:
        log_level: See `_DataActor`.
        dispatcher: The dispatcher's `"host:port"`.
    """

    def __init__(self, log_level: str, dispatcher: str) -> None:
        def start(host: str) -> Server:
            from persia_tf.data.remote import servers

            address = addresses.parse(dispatcher)
            servers.wait_for_dispatcher(address)
            return servers.DataWorker(host, 0, address)

        super().__init__("persia.data.worker", log_level, start)


class DataService:
    """A dispatcher and data workers; the constructor begins to start the dispatcher.

    Args:
        log_level: The lowest level that they log.
        folder: The folder of the dispatcher's journal.

    Attributes:
        dispatcher: The handle of the dispatcher's actor.
        workers: The handles of the data workers' actors.
    """

    def __init__(self, log_level: str, folder: str) -> None:
        self._log_level = log_level
        here = ray.get_runtime_context().get_node_id()
        self.dispatcher = (
            ray.remote(Dispatcher)
            .options(
                num_cpus=0,
                max_restarts=-1,
                scheduling_strategy=NodeAffinitySchedulingStrategy(here, soft=False),
            )
            .remote(log_level, folder)
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
        self.workers = [each(self._log_level, dispatcher) for each in make]

    def stop(self) -> None:
        """Ends the dispatcher; the workers end with their placement group."""
        ray.kill(self.dispatcher)
