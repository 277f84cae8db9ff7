"""The servers of tf.data service, in the process of the test."""

import socket

import pytest

from persia_tf.data.remote import servers
from persia_tf.processes import listening_ports


def devices(address):
    """The devices from which the listeners of a server take connections."""
    found = set()
    for listener in listening_ports.listeners(address.port):
        with listener:
            name = listener.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16)
            found.add(name.rstrip(b"\0").decode())
    return found


@pytest.mark.parametrize(("is_private", "expected"), [(True, "lo"), (False, "")])
def test_private_servers_refuse_other_machines(is_private, expected):
    dispatcher = servers.Dispatcher("127.0.0.1", 0, is_private, work_dir=None)
    assert servers.wait_for_dispatcher(dispatcher.address)
    worker = servers.DataWorker("127.0.0.1", 0, is_private, dispatcher.address)
    assert devices(dispatcher.address) == devices(worker.address) == {expected}
    worker.stop(20)
    dispatcher.stop(20)


def test_a_wait_for_a_dispatcher_can_be_given_up():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        address = servers.Address(*bound.getsockname())
        answers = iter([False, True])
        assert not servers.wait_for_dispatcher(address, lambda: next(answers))
