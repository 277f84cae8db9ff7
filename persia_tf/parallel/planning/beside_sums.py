"""How much of the processor sums of gradients take while they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from persia_tf.parallel.members import Members
from persia_tf.parallel.paced_sums import PacedSums
from persia_tf.parallel.planning.network import Curve
from persia_tf.parallel.planning.timing import collective_seconds

_SUMMED_BYTES = 2 << 20
_WIDTH = 512
_PROBED_PRODUCTS = 4
_CALLS = 5

# Two workers, one core each: sums of 16 MiB took 35 ms of a processor's time.
_SECONDS_PER_BYTE = 2e-9


def measured_share(workers: Members) -> float:
    """Measures how much longer a computation takes beside sums. Collective.

    Args:
        workers: All workers.

    Returns:
        From 0, if it takes as long as without sums, to almost 1.
    """
    if workers.size == 1:
        return 0.0
    sums = _seconds(workers, 0, 1)
    once = _seconds(workers, _PROBED_PRODUCTS, 0)
    # The same number on all workers, as they sum together.
    agreed = workers.sum(tf.constant([sums, once]), "beside").numpy() / workers.size
    products = max(1, round(1.5 * _PROBED_PRODUCTS * float(agreed[0] / agreed[1])))
    alone = _seconds(workers, products, 0)
    together = _seconds(workers, products, 1)
    return min(0.95, max(0.0, (together - max(alone, sums)) / sums))


def share_of_bandwidth(sums: Curve) -> float:
    """Returns the share if sums take a known time."""
    return min(0.95, _SECONDS_PER_BYTE / sums.per_byte) if sums.per_byte else 0.0


def _seconds(workers: Members, products: int, sums: int) -> float:
    """Returns the time of products of matrices, one after the other, beside sums."""
    matrix = tf.eye(_WIDTH)
    vector = tf.zeros([sums * _SUMMED_BYTES // 4])
    function = tf.function(_computing(workers, products, sums), autograph=False)
    return collective_seconds(_CALLS, function, matrix, vector)


def _computing(workers: Members, products: int, sums: int) -> Callable[..., Any]:
    def compute(matrix: tf.Tensor, vector: tf.Tensor) -> list[tf.Tensor]:
        paced = PacedSums(workers)
        summed = [paced.sum(vector, "beside/sum")[:1] for _ in range(sums)]
        product = matrix
        for _ in range(products):
            product = tf.matmul(product, matrix)
        return [*summed, product[:1, :1]]

    return compute
