"""Which batches a data worker reads one after the other."""

from __future__ import annotations

from persia_tf.data.reading.file_samples import FileSamples

# The part in which a unit begins is mostly read for the unit before it too, so a unit
# has several parts. It has no more, since an epoch is read by at most as many data
# workers as it has units, and a trainer holds the batches of a unit of each of them.
_LEAST_PARTS = 4
_MOST_ROWS = 1 << 20


def firsts_of_units(samples: FileSamples, epoch: int) -> list[int]:
    """Returns the number of the first batch of each unit of an epoch.

    A unit is one group of rows that are mixed with each other, or several small ones.
    """
    firsts: list[int] = []
    parts = rows = 0
    for first, group in zip(*samples.groups(epoch)):
        if not firsts or parts >= _LEAST_PARTS or rows + group.rows > _MOST_ROWS:
            firsts.append(first)
            parts = rows = 0
        parts += group.until - group.part
        rows += group.rows
    return firsts
