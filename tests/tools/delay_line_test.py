"""The line of delayed bytes, with a clock that the test sets."""

import select
import socket

import pytest
from delay_line import DelayLine


@pytest.fixture
def ends():
    """A socket to write into the line, and one to read what left it."""
    write, fill = socket.socketpair()
    drain, read = socket.socketpair()
    for sock in (fill, drain, read):
        sock.setblocking(False)
    yield write, fill, drain, read
    for sock in (write, fill, drain, read):
        sock.close()


def received(sock):
    try:
        return sock.recv(1 << 20)
    except BlockingIOError:
        return b""


def is_readable(sock):
    poll = select.poll()  # `select.select` fails if the program has many files open.
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


def test_bytes_leave_when_the_delay_is_over_and_not_before(ends):
    write, fill, drain, read = ends
    line = DelayLine(delay=10.0, capacity=100)
    write.sendall(b"one")
    line.fill(fill, now=1.0)
    write.sendall(b"two")
    line.fill(fill, now=5.0)
    line.drain(drain, now=10.9, limit=None)
    assert received(read) == b""
    assert line.next_due == 11.0
    line.drain(drain, now=11.0, limit=None)
    assert received(read) == b"one"
    line.drain(drain, now=15.0, limit=None)
    assert received(read) == b"two"
    assert line.next_due is None and line.passed == 6


def test_bytes_of_a_moment_leave_together(ends):
    write, fill, drain, read = ends
    line = DelayLine(delay=10.0, capacity=100)
    for now in (1.0, 1.00005):
        write.sendall(b"ab")
        line.fill(fill, now)
    line.drain(drain, now=11.0, limit=None)
    assert received(read) == b"abab"


def test_bytes_that_come_while_others_leave_are_not_mixed(ends):
    write, fill, drain, read = ends
    line = DelayLine(delay=1.0, capacity=7)
    sent = bytes(range(60))
    got = b""
    for now in range(40):
        # Every second, 3 bytes arrive while 3 others are still delayed.
        write.sendall(sent[3 * now : 3 * now + 3])
        while line.wants_bytes and is_readable(fill):
            line.fill(fill, float(now))
        line.drain(drain, float(now), limit=None)
        got += received(read)
    assert got == sent


def test_a_full_line_wants_no_bytes(ends):
    write, fill, drain, read = ends
    line = DelayLine(delay=1.0, capacity=4)
    write.sendall(b"sixsix")
    line.fill(fill, now=0.0)
    assert not line.wants_bytes
    line.drain(drain, now=1.0, limit=None)
    assert line.wants_bytes and received(read) == b"sixs"


def test_the_end_is_delayed_too(ends):
    write, fill, drain, read = ends
    line = DelayLine(delay=1.0, capacity=4)
    write.sendall(b"bye")
    line.fill(fill, now=0.0)
    write.shutdown(socket.SHUT_WR)
    line.fill(fill, now=0.5)
    line.drain(drain, now=1.4, limit=None)
    assert received(read) == b"bye" and not line.is_done
    line.drain(drain, now=1.5, limit=None)
    assert line.is_done and not line.wants_bytes


def test_a_limit_holds_back_the_rest(ends):
    write, fill, drain, read = ends
    line = DelayLine(delay=0.0, capacity=100)
    write.sendall(b"0123456789")
    line.fill(fill, now=0.0)
    for _ in range(2):
        line.drain(drain, now=1.0, limit=4)
    assert line.passed == 4 and received(read) == b"0123"


def test_a_full_socket_keeps_what_is_due(ends):
    write, fill, drain, read = ends
    line = DelayLine(delay=0.0, capacity=1 << 22)
    write.setblocking(False)
    sent = 0
    while not line.has_due_bytes:
        sent += write.send(bytes(1 << 12))
        line.fill(fill, now=0.0)
        line.drain(drain, now=0.0, limit=None)
    got = len(received(read))
    while got < sent:
        line.drain(drain, now=0.0, limit=None)
        got += len(received(read))
    assert line.passed == sent and not line.has_due_bytes
