"""Admission policies decide which ids get a row: many ids occur only once in a stream.

For an id that is not admitted, a lookup returns the initial value that its row would
have, without storing it, and the id's gradients are dropped (and counted as
`absent_gradients`). Existing rows stay: the policy is applied only to ids without a
row, once per training lookup.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from persia_tf._keras import keras
from persia_tf.base import checks
from persia_tf.table_settings.policy import Policy

__all__ = ["Admission", "BloomMinCount", "MinCount", "Probability"]

# Counters of `BloomMinCount` are one byte wide.
_MOST_BLOOM_COUNT = 255
_MOST_BLOOM_IDS = 10**10
_LEAST_FALSE_POSITIVE_RATE = 1e-9

# The counters of `MinCount` are 32 bits wide.
_MOST_COUNT = 2**32 - 1


class Admission(Policy):
    """Base of the admission policies."""


@keras.saving.register_keras_serializable(package="persia_tf")
class MinCount(Admission):
    """Admits an id at exactly the `count`-th training lookup that contains it.

    The table stores a counter for every id that is not admitted yet, so memory grows
    with the number of rare ids; `BloomMinCount` bounds that memory.

    Args:
        count: An integer from 1 to 2**32 - 1. The id's `count`-th lookup creates
            its row.

    Raises:
        TypeError: if `count` is not an integer.
        ValueError: if `count` is out of its range.
    """

    rule = "min_count"

    def __init__(self, count: int) -> None:
        super().__init__(count=checks.integer("count", count, 1, _MOST_COUNT))


@keras.saving.register_keras_serializable(package="persia_tf")
class BloomMinCount(Admission):
    """Admits ids as `MinCount` does, counting in a Bloom filter of a fixed size.

    With `n = expected_ids` and `p = false_positive_rate`, the table holds
    `m = -n ln(p) / ln(2)**2` counters of one byte over all its shards, and an id
    uses `k = m / n * ln(2)` of them (Bloom, 1970; Fan et al., 2000): 9.6 bytes per
    expected id and 7 counters for the default rate. An id's count is the minimum
    of its counters. So an id is never admitted too late. It is admitted too early only
    if it shares all of its counters with other ids. The probability of that is at most
    `p` until `n` different ids were counted, and grows after that.

    Counters never decrease: an id whose row was evicted is admitted again at once.

    Args:
        count: An integer from 1 to 255.
        expected_ids: How many different ids will be counted: an integer from 1
            to 10**10. Their counters may take at most 64 GiB.
        false_positive_rate: A float from 1e-9 to below 1. Defaults to `0.01`.

    Raises:
        TypeError: if `count` or `expected_ids` is not an integer, or
            `false_positive_rate` is not a number.
        ValueError: if a number is out of its range.
    """

    rule = "bloom_min_count"

    def __init__(
        self, count: int, expected_ids: int, false_positive_rate: float = 0.01
    ) -> None:
        super().__init__(
            count=checks.integer(
                "count",
                count,
                1,
                _MOST_BLOOM_COUNT,
                ", since counters are one byte wide (MinCount takes more)",
            ),
            expected_ids=checks.integer(
                "expected_ids", expected_ids, 1, _MOST_BLOOM_IDS
            ),
            false_positive_rate=_checked_chance(
                "false_positive_rate",
                false_positive_rate,
                f"of at least {_LEAST_FALSE_POSITIVE_RATE} and below 1",
                lambda rate: _LEAST_FALSE_POSITIVE_RATE <= rate < 1,
            ),
        )


@keras.saving.register_keras_serializable(package="persia_tf")
class Probability(Admission):
    """Admits a fraction `p` of all ids: each id is admitted always or never.

    Args:
        p: A float above 0 and at most 1.

    Raises:
        TypeError: if `p` is not a number.
        ValueError: if `p` is out of its range.
    """

    rule = "probability"

    def __init__(self, p: float) -> None:
        chance = _checked_chance("p", p, "above 0 and at most 1", lambda x: 0 < x <= 1)
        super().__init__(p=chance)


def get(admission: Admission | None) -> Admission | None:
    """Returns `admission` if it is None or an admission policy.

    Raises:
        TypeError: for anything else.
    """
    if admission is None or isinstance(admission, Admission):
        return admission
    raise TypeError(
        "`admission` must be None or one of persia_tf.admission.MinCount(count), "
        "BloomMinCount(count, expected_ids) and Probability(p). "
        f"Received: admission={admission!r}"
    )


def spec(admission: Admission | None) -> str:
    """Returns an admission policy in the core's format. None admits every id."""
    return "always" if admission is None else admission.spec()


def _checked_chance(
    name: str, value: Any, allowed: str, holds: Callable[[float], bool]
) -> float:
    refusal = f"`{name}` must be a number {allowed}. Received: {name}={value!r}"
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(refusal)
    chance = checks.as_float(value)
    if not holds(chance):
        raise ValueError(refusal)
    return chance
