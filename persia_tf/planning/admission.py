"""How many of a table's ids are admitted, and so get a row."""

from __future__ import annotations

import math

from persia_tf.admission import Admission, BloomMinCount, MinCount, Probability
from persia_tf.planning.estimate import Estimate
from persia_tf.planning.growth import Growth


def admitted(growth: Growth, admission: Admission | None, epochs: int = 1) -> Estimate:
    """Returns how many ids have been admitted by the end of a run.

    Args:
        growth: The growth of the table's distinct ids.
        admission: The table's rule; None admits every id.
        epochs: How often the run passes over the same lookups.

    Returns:
        An `Estimate`.
    """
    if isinstance(admission, Probability):
        return growth.distinct().scaled(admission.get_config()["p"])
    if not isinstance(admission, (MinCount, BloomMinCount)):
        return growth.distinct()
    times = _in_one_epoch(admission, epochs)
    rows = growth.looked_up(times)
    if not isinstance(admission, BloomMinCount) or times == 1:
        return rows
    early = _early(growth, admission, times)
    # The filter's collisions are computed for random hashes, from estimates of ids.
    return Estimate(rows.value + early, rows.low, rows.high + 2 * early)


def waiting(growth: Growth, admission: Admission | None, epochs: int = 1) -> float:
    """Returns how many ids `MinCount` counts, at the end of a run, that have no row."""
    if not isinstance(admission, MinCount):
        return 0.0
    times = _in_one_epoch(admission, epochs)
    return max(growth.distinct().value - growth.looked_up(times).value, 0.0)


def filter_counters(admission: Admission | None) -> float:
    """Returns how many one-byte counters a table's filter has; 0 without a filter.

    The formula is Bloom's, "Space/time trade-offs in hash coding with allowable
    errors", 1970.
    """
    if not isinstance(admission, BloomMinCount):
        return 0.0
    config = admission.get_config()
    log_rate = math.log(config["false_positive_rate"])
    return -config["expected_ids"] * log_rate / math.log(2) ** 2


def _in_one_epoch(admission: Admission, epochs: int) -> int:
    """In how many lookups of one epoch an id must be to be admitted by the last one."""
    return -(-admission.get_config()["count"] // epochs)


def _early(growth: Growth, filtered: BloomMinCount, times: int) -> float:
    """Returns how many ids a filter admits, by the end, that were looked up too rarely.

    An id that is counted for the first time is admitted if each of its counters was
    raised to `times - 1` by other ids. About that many of the counters are so high as
    `k` for each id that was looked up `times - 1` times.
    """
    counters = filter_counters(filtered)
    rate = filtered.get_config()["false_positive_rate"]
    hashes = max(1, round(-math.log2(rate)))
    raising = growth.looked_up(max(times - 1, 1)).value
    rare = max(growth.distinct().value - growth.looked_up(times).value, 0.0)
    # Ids arrive while the filter fills: the mean over some moments.
    moments = 16
    chances = [
        (1 - math.exp(-hashes * raising * (i + 0.5) / moments / counters)) ** hashes
        for i in range(moments)
    ]
    return rare * sum(chances) / moments
