"""Which ids get a row: most ids of a stream come once and never again.

An id that is not let in gets its initial value, which is not stored, and its
gradients are dropped (and counted as `absent_gradients`). Rows that are there
stay: admission is asked about absent ids only, once a training lookup.
"""

from __future__ import annotations

import math
from typing import Any

from persia_tf._keras import keras
from persia_tf.spec import format_spec

# Counters of `BloomMinCount` are one byte wide.
_MOST_BLOOM_COUNT = 255


class Admission:
    """Base of the admission policies: a rule's name and its numbers.

    Args:
        parameters: The rule's numbers, by name.
    """

    rule = ""

    def __init__(self, **parameters: float) -> None:
        self._parameters = parameters

    def spec(self) -> str:
        """The rule and its numbers as the core's text."""
        return format_spec(self.rule, self._parameters)

    def get_config(self) -> dict[str, Any]:
        return dict(self._parameters)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Admission:
        return cls(**config)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{k}={v!r}" for k, v in self.get_config().items())
        return f"{type(self).__name__}({arguments})"


@keras.saving.register_keras_serializable(package="persia_tf")
class MinCount(Admission):
    """Lets an id in once it came in `count` training lookups. Exact.

    It remembers every id that waits, so its memory grows with the ids that are
    never let in; `BloomMinCount` bounds it.

    Args:
        count: An int of at least 1. The id's row is made by its `count`-th
            lookup.

    Raises:
        TypeError: if `count` is no int.
        ValueError: if `count` is below 1.
    """

    rule = "min_count"

    def __init__(self, count: int) -> None:
        _check_int("count", count)
        super().__init__(count=count)


@keras.saving.register_keras_serializable(package="persia_tf")
class BloomMinCount(Admission):
    """As `MinCount`, with counts in a counting Bloom filter of a fixed size.

    With `n = expected_ids` and `p = false_positive_rate`, the table holds
    `m = -n ln(p) / ln(2)**2` counters of one byte over all its shards, and an id
    has `k = m / n * ln(2)` of them (Bloom, 1970; Fan et al., 2000): 9.6 bytes an
    expected id and 7 counters for the default rate. An id's count is the least
    of its counters. So an id never comes in too late, and too early only if all
    of its counters are shared: with a probability of `p` at most while no more
    than `n` different ids were counted; with more ids, more often.

    Counters never fall: an id that was evicted is let in again at once.

    Args:
        count: An int from 1 to 255.
        expected_ids: How many different ids will be counted; an int of at
            least 1.
        false_positive_rate: A float above 0 and below 1. Defaults to `0.01`.

    Raises:
        TypeError: if `count` or `expected_ids` is no int.
        ValueError: if a number is out of its range.
    """

    rule = "bloom_min_count"

    def __init__(
        self, count: int, expected_ids: int, false_positive_rate: float = 0.01
    ) -> None:
        _check_int("count", count)
        if count > _MOST_BLOOM_COUNT:
            raise ValueError(
                f"`count` must be at most {_MOST_BLOOM_COUNT}, since counters are one "
                f"byte wide (MinCount takes more). Received: count={count}"
            )
        _check_int("expected_ids", expected_ids)
        if not _is_number(false_positive_rate) or not 0 < false_positive_rate < 1:
            raise ValueError(
                "`false_positive_rate` must be above 0 and below 1. "
                f"Received: false_positive_rate={false_positive_rate!r}"
            )
        super().__init__(
            count=count,
            expected_ids=expected_ids,
            false_positive_rate=false_positive_rate,
        )


@keras.saving.register_keras_serializable(package="persia_tf")
class Probability(Admission):
    """Lets an id in with a probability of `p`.

    Args:
        p: A float above 0 and at most 1.

    Raises:
        ValueError: if `p` is out of its range.
    """

    rule = "probability"

    def __init__(self, p: float) -> None:
        if not _is_number(p) or not 0 < p <= 1:
            raise ValueError(f"`p` must be above 0 and at most 1. Received: p={p!r}")
        super().__init__(p=p)


def check(admission: Any) -> None:
    """Refuses what is neither None nor an object of this module.

    Args:
        admission: Anything.

    Raises:
        ValueError: naming what there is, and the value.
    """
    if admission is None or isinstance(admission, Admission):
        return
    raise ValueError(
        "`admission` must be None or one of persia_tf.admission.MinCount(count), "
        "BloomMinCount(count, expected_ids) and Probability(p). "
        f"Received: admission={admission!r}"
    )


def spec(admission: Admission | None) -> str:
    """Returns an admission as the core's text: None lets every id in."""
    return "always" if admission is None else admission.spec()


def _check_int(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"`{name}` must be an int. Received: {name}={value!r}")
    if value < 1:
        raise ValueError(f"`{name}` must be at least 1. Received: {name}={value}")


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value)
