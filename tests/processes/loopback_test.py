"""Servers of libraries that are kept to programs of this machine."""

import socket

import pytest

from persia_tf import errors
from persia_tf.processes import listening_ports, loopback


@pytest.fixture
def server():
    with socket.create_server(("", 0)) as listening:
        yield listening


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("0.0.0.0", False)],
)
def test_a_loopback_address_is_this_machine_alone(host, expected):
    assert loopback.is_loopback(host) == expected


def test_a_host_that_is_not_there_is_refused():
    with pytest.raises(errors.InvalidArgumentError, match="cannot listen on 'no.such'"):
        loopback.is_loopback("no.such")


def device_of(server):
    return server.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16).rstrip(
        b"\0"
    )


def test_a_port_is_kept_to_this_machine_and_no_other_port(server):
    with socket.create_server(("", 0)) as other:
        loopback.refuse_other_machines(server.getsockname()[1], "the test")
        assert (device_of(server), device_of(other)) == (b"lo", b"")
    socket.create_connection(("127.0.0.1", server.getsockname()[1]), 60).close()


def test_a_system_that_does_not_allow_it_is_told(server, monkeypatch):
    port = server.getsockname()[1]
    monkeypatch.setattr(socket, "SO_BINDTODEVICE", 10_000)  # Which no system has.
    with pytest.raises(errors.FailedPreconditionError) as raised:
        loopback.refuse_other_machines(port, "the test")
    message = str(raised.value)
    assert message.startswith(f"cannot keep the test on port {port} to this machine")
    assert "give --host with another address of this machine, and --insecure" in message


def test_the_listeners_of_a_port_are_found(server):
    port = server.getsockname()[1]
    with socket.create_connection(("127.0.0.1", port), 60):  # It does not listen.
        [found] = listening_ports.listeners(port)
        with found:
            assert found.getsockname() == server.getsockname()
    assert list(listening_ports.listeners(1)) == []


def test_a_free_port_is_one_on_which_nothing_listens(server):
    assert listening_ports.free_port(0, "the test") > 0
    taken = server.getsockname()[1]
    with pytest.raises(errors.UnavailableError) as raised:
        listening_ports.free_port(taken, "the test")
    assert str(raised.value).startswith(f"cannot listen on port {taken} for the test: ")
