"""The servers of tf.data service: the dispatcher and the data workers.

TensorFlow's servers have neither a token nor TLS, and listen on all addresses of the
machine. Those of this module accept connections from this machine alone, unless they
are told otherwise.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

import grpc
import tensorflow as tf

from persia_tf import errors
from persia_tf.base.addresses import Address
from persia_tf.data.remote import functions
from persia_tf.ops import load
from persia_tf.processes import listening_ports, loopback

_service = tf.data.experimental.service

# A worker asks the dispatcher for work this often, so a new dataset may wait this long
# for its first batch. TensorFlow's default is 30 s.
_HEARTBEAT_MS = 500

# How long a worker waits for a dispatcher that is being restarted: a day.
_DISPATCHER_TIMEOUT_MS = 24 * 60 * 60 * 1000

# A dispatcher forgets a job, which is the iteration of a dataset by trainers, once no
# trainer has asked for it for so long: the trainers were killed.
_JOB_CHECK_MS = 5000
_JOB_TIMEOUT_MS = 20_000

# A request that a dispatcher answers in each version of TensorFlow.
_VERSION_METHOD = "/tensorflow.data.DispatcherService/GetVersion"
_ASK_SECONDS = 1.0
_RETRY_SECONDS = 0.2
# By default gRPC would wait longer and longer between its attempts to connect.
_CHANNEL_OPTIONS = [("grpc.max_reconnect_backoff_ms", 500)]


class _Server:
    """A server of TensorFlow, which the constructor starts.

    Args:
        host: The name or the address at which others reach the server.
        port: The port to listen on; 0 means any free one.
        is_private: Whether to refuse connections from other machines.
        purpose: What listens, for messages.
        start: A function that starts and returns TensorFlow's server for a port.

    Attributes:
        address: The address at which others reach the server.
    """

    def __init__(
        self,
        host: str,
        port: int,
        is_private: bool,
        purpose: str,
        start: Callable[[int], Any],
    ) -> None:
        self.address = Address(host, listening_ports.free_port(port, purpose))
        self._server = start(self.address.port)
        if is_private:
            loopback.refuse_other_machines(self.address.port, purpose)

    def stop(self, seconds: float) -> bool | None:
        """Finishes requests in flight, and stops the server.

        Args:
            seconds: How long requests in flight may take. If they take longer, this
                process ends by SIGALRM: TensorFlow waits for them without letting
                Python run, so nothing else could end it. Nothing is lost: a dispatcher
                has written its journal.
        """
        signal.setitimer(signal.ITIMER_REAL, seconds)
        self._server.stop()
        signal.setitimer(signal.ITIMER_REAL, 0)


class Dispatcher(_Server):
    """The dispatcher: it hands out the work of datasets to the data workers.

    Args:
        host: See `_Server`.
        port: See `_Server`.
        is_private: See `_Server`.
        work_dir: The folder of a journal, from which the next dispatcher goes on. If
            None, there is no journal.

    Raises:
        PersiaError: If it cannot listen, or cannot refuse other machines, or if the op
            library is missing.
    """

    def __init__(
        self, host: str, port: int, is_private: bool, work_dir: str | None
    ) -> None:
        # It looks at the graphs of trainers' datasets, which may have our ops.
        load.ops()

        def start(port: int) -> Any:
            return _service.DispatchServer(
                _service.DispatcherConfig(
                    port=port,
                    work_dir=work_dir,
                    fault_tolerant_mode=work_dir is not None,
                    job_gc_check_interval_ms=_JOB_CHECK_MS,
                    job_gc_timeout_ms=_JOB_TIMEOUT_MS,
                )
            )

        super().__init__(host, port, is_private, "the dispatcher", start)


class DataWorker(_Server):
    """A data worker: it runs the datasets of trainers, and sends them the elements.

    Args:
        host: See `_Server`.
        port: See `_Server`. A worker that is started again needs its earlier address,
            since trainers wait for the elements that they expect from there.
        is_private: See `_Server`.
        dispatcher: The dispatcher's address. It must run: see `wait_for_dispatcher`.

    Raises:
        PersiaError: If it cannot listen, or cannot refuse other machines, or if the op
            library is missing.
    """

    def __init__(
        self, host: str, port: int, is_private: bool, dispatcher: Address
    ) -> None:
        # The graphs of trainers' datasets may have the ops of this library.
        load.ops()
        functions.register()

        def start(port: int) -> Any:
            return _service.WorkerServer(
                _service.WorkerConfig(
                    dispatcher_address=str(dispatcher),
                    worker_address=str(Address(host, port)),
                    port=port,
                    heartbeat_interval_ms=_HEARTBEAT_MS,
                    dispatcher_timeout_ms=_DISPATCHER_TIMEOUT_MS,
                )
            )

        super().__init__(host, port, is_private, "the data worker", start)

    cuts_off = True

    def stop(self, seconds: float) -> bool:
        """Leaves the server to the end of this process, which must not wait for it.

        TensorFlow would wait for pipelines that call Python, without letting Python
        run. Nothing is lost: a worker keeps nothing, and trainers read themselves what
        it had in hand.
        """
        del seconds
        return False


def wait_for_dispatcher(
    dispatcher: Address, is_given_up: Callable[[], bool] = lambda: False
) -> bool:
    """Waits until a dispatcher answers.

    TensorFlow's worker would wait too, but without letting Python run.

    Args:
        dispatcher: The dispatcher's address.
        is_given_up: Called now and then; if it returns True, the wait ends.

    Returns:
        Whether the dispatcher has answered; False if the wait was given up.

    Raises:
        InvalidArgumentError: If something else listens at that address.
    """
    with grpc.insecure_channel(str(dispatcher), _CHANNEL_OPTIONS) as channel:
        ask = channel.unary_unary(_VERSION_METHOD)
        while not is_given_up():
            try:
                ask(b"", timeout=_ASK_SECONDS, wait_for_ready=True)
                return True
            except grpc.RpcError as error:
                if error.code() == grpc.StatusCode.UNIMPLEMENTED:
                    raise errors.InvalidArgumentError(
                        "the dispatcher's address must be that of a dispatcher of "
                        "tf.data service, as `persia data dispatcher` logs it, but "
                        f"another server listens there. Received: {dispatcher}"
                    ) from error
            time.sleep(_RETRY_SECONDS)
    return False
