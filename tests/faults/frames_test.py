"""Frames and their mutations, as tests send them."""

import collections

import pytest
from frames import HEADER_BYTES, Frame, Mutator, crc32c

FRAMES = [Frame(3, 4, bytes(range(64))), Frame(3, 8, b"")]


def test_the_checksum_is_crc_32c():
    assert crc32c(b"123456789") == 0xE3069283  # RFC 3720's check value.


def is_whole(data):
    """Whether a server takes these bytes for a whole frame."""
    head, body = data[:HEADER_BYTES], data[HEADER_BYTES:]
    frame = Frame(3, int.from_bytes(head[6:8], "little"), body)
    return data == frame.sealed(int.from_bytes(head[8:16], "little"))


def test_mutations_are_what_they_say():
    mutator = Mutator(FRAMES, seed=1)
    drawn = [mutator.draw() for _ in range(2000)]
    assert all(is_whole(mutated.data) for mutated in drawn if mutated.is_whole)
    # A whole frame is broken only if other bytes follow it.
    for mutated in drawn:
        if mutated.is_broken and is_whole(mutated.data[: HEADER_BYTES + 64]):
            assert len(mutated.data) > HEADER_BYTES + 64
    kinds = collections.Counter(
        (mutated.is_whole, mutated.is_broken) for mutated in drawn
    )
    assert len(kinds) == 3 and min(kinds.values()) > 100
    assert len({mutated.data for mutated in drawn}) > 1000


@pytest.mark.parametrize("seed", [1, 2])
def test_mutations_are_those_of_their_seed(seed):
    def drawn(mutator):
        return [mutator.draw() for _ in range(100)]

    assert drawn(Mutator(FRAMES, seed)) == drawn(Mutator(FRAMES, seed))
    assert drawn(Mutator(FRAMES, seed)) != drawn(Mutator(FRAMES, seed + 1))
