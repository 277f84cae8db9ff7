"""What faults do to a stream's bytes does not depend on how the stream is split."""

import pytest
from stream_faults import (
    CORRUPT,
    DROP,
    DUPLICATE,
    KINDS,
    TRUNCATE,
    Fault,
    Faults,
    FaultyStream,
)

SENT = bytes(range(100))


def passed(fault, piece_bytes):
    stream = FaultyStream(fault)
    out = b""
    for begin in range(0, len(SENT), piece_bytes):
        piece = SENT[begin : begin + piece_bytes]
        got = stream.pass_on(piece)
        assert len(got) <= len(piece) + stream.most_added
        out += got
    assert stream.happened == (fault.after < len(SENT))
    return out


@pytest.mark.parametrize("piece_bytes", [1, 7, 100])
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (CORRUPT, SENT[:40] + bytes(b ^ 3 for b in SENT[40:50]) + SENT[50:]),
        (TRUNCATE, SENT[:40] + SENT[50:]),
        (DUPLICATE, SENT[:50] + SENT[40:]),
        (DROP, SENT[:40]),
    ],
)
def test_a_fault_happens_to_its_stretch_alone(kind, expected, piece_bytes):
    fault = Fault(kind, direction=0, after=40, length=10, mask=3)
    assert passed(fault, piece_bytes) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_before_a_fault_pass_as_they_are(kind):
    assert passed(Fault(kind, direction=0, after=100, length=10), 9) == SENT


def test_faults_are_those_of_their_seed():
    def drawn(seed):
        faults = Faults(seed, mean_bytes=1000, most_length=8)
        return [faults.of(connection) for connection in range(400)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert {(fault.kind, fault.direction) for fault in drawn(1)} == {
        (kind, direction) for kind in KINDS for direction in (0, 1)
    }
    assert {fault.length for fault in drawn(1)} == set(range(1, 9))
    assert all(1 <= fault.mask <= 255 for fault in drawn(1))
    assert 800 < sum(fault.after for fault in drawn(1)) / 400 < 1200


def test_kinds_are_those_asked_for():
    faults = Faults(seed=1, mean_bytes=1, kinds=[DROP])
    assert {faults.of(connection).kind for connection in range(20)} == {DROP}


@pytest.mark.parametrize("kinds", [[], ["lose"]])
def test_unknown_kinds_are_refused(kinds):
    with pytest.raises(ValueError, match="corrupt, truncate, duplicate, drop"):
        Faults(seed=1, mean_bytes=1, kinds=kinds)
