"""`Source`, over batches whose iterations the test holds up."""

import threading
from typing import NamedTuple

import pytest
import tensorflow as tf

from persia_tf.data.reading.batches import Batches, Handed
from persia_tf.data.reading.source import Source

LENGTH = 6


class Place(NamedTuple):
    epoch: int
    batch: int = 0


class HeldBatches(Batches):
    """Batches that are their numbers; an iteration ends once the test allows it.

    Attributes:
        begun: Where the iterations began.
        may_end: Lets iterations end after their last batch.
        ended: An iteration has ended.
    """

    length = LENGTH
    is_shard = False
    specs = (tf.TensorSpec([], tf.int64),)

    def __init__(self):
        self.begun = []
        self.may_end = threading.Event()
        self.ended = threading.Event()

    def begin(self, epoch):
        return Place(epoch)

    def position(self, values):
        return Place(*values)

    def read(self, start):
        self.begun.append(start)
        for batch in range(start.batch, LENGTH):
            place = Place(start.epoch, batch + 1)
            yield Handed((batch,), [place], batch + 1 == LENGTH)
        assert self.may_end.wait(60)
        self.ended.set()

    def elements(self, handed):
        return handed.flat_map(tf.data.Dataset.from_tensors)


@pytest.fixture
def batches():
    held = HeldBatches()
    yield held
    held.may_end.set()


def test_an_iteration_that_ends_late_leaves_the_next_one_its_positions(batches):
    source = Source(batches)
    source.seek([0, 4])
    dataset = source.dataset()
    assert dataset.cardinality().numpy() == LENGTH
    rest = iter(dataset.prefetch(LENGTH))
    assert [int(next(rest)) for _ in range(2)] == [4, 5]
    following = iter(dataset)
    assert [int(next(following)) for _ in range(3)] == [0, 1, 2]
    assert source.position_after(5) == Place(1, 3)
    batches.may_end.set()
    assert batches.ended.wait(60)
    assert not list(rest)
    assert [int(each) for each in following] == [3, 4, 5]
    assert source.position_after(3) == Place(2)
    assert batches.begun == [Place(0, 4), Place(1)]
