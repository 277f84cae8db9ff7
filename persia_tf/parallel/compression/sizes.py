"""How many bytes workers exchange, exactly."""

from __future__ import annotations

from persia_tf.parallel.compression import entries, formats, words
from persia_tf.parallel.compression.encodings import Encoding, Threshold
from persia_tf.parallel.compression.gradients import slice_of


def payload_bytes(encoding: Encoding | None, count: int) -> int:
    """Returns the bytes of one payload.

    Args:
        encoding: How numbers are sent, or None for float32.
        count: How many numbers the payload is of.
    """
    if encoding is None:
        return count * words.BYTES
    if isinstance(encoding, Threshold):
        return entries.of(encoding, count).words * words.BYTES
    return formats.format_of(encoding).words(count) * words.BYTES


def gradient_bytes(encoding: Encoding | None, count: int, workers: int) -> int:
    """Returns the bytes that a worker receives to know the sum of a bucket's gradients.

    With None, `Float16` and `Int8`, they do not depend on the number of workers, n,
    but for a factor of (n - 1) / n. With `Threshold`, they are proportional to n - 1.

    Args:
        encoding: How numbers are sent, or None for float32.
        count: How many numbers the bucket has.
        workers: The number of workers.
    """
    if isinstance(encoding, Threshold):
        return (workers - 1) * payload_bytes(encoding, count)
    # Each worker receives the others' summands of its slice, then the others' sums.
    in_slice = slice_of(count, workers)
    return 2 * (workers - 1) * payload_bytes(encoding, in_slice)
