"""The figures computed from the latencies of requests while slots move."""

import numpy as np
import pytest
import reshard_bench
import tcp_copy

# Each request: when it began, and the seconds of its lookup and of its update.
REQUESTS = np.array(
    [
        [0.0, 0.001, 0.002],
        [1.0, 0.001, 0.002],
        [1.9, 0.2, 0.002],  # Still under way when the move begins.
        [2.5, 0.05, 0.004],
        [4.0, 0.9, 0.9],  # After the move.
    ]
)
BEFORE, DURING = [(-0.5, 1.5)], [(2.0, 3.0)]


def test_a_request_belongs_to_the_times_in_which_it_is_under_way():
    during = reshard_bench.overlapping(REQUESTS, DURING)
    assert during[:, 0].tolist() == [1.9, 2.5]
    both = reshard_bench.overlapping(REQUESTS, [*BEFORE, *DURING])
    assert both[:, 0].tolist() == [0.0, 1.0, 1.9, 2.5]


def test_times_without_a_request_are_an_error():
    with pytest.raises(ValueError, match="measure for longer"):
        reshard_bench.overlapping(REQUESTS, [(8.0, 9.0)])


def test_latencies_during_moves_are_compared_with_those_before():
    figures, latencies = reshard_bench.pause_figures(
        {"moving": REQUESTS}, BEFORE, DURING
    )
    assert latencies["moving lookup before"]["requests"] == 2
    assert latencies["moving lookup during"]["max_ms"] == pytest.approx(200)
    assert figures["moving_lookup_max_added_ms"] == pytest.approx(199)
    assert figures["moving_lookup_p50_added_ms"] == pytest.approx(124)
    assert figures["moving_update_max_added_ms"] == pytest.approx(2)


def test_a_copy_over_tcp_takes_time():
    assert tcp_copy.copy_seconds(3_000_000) > 0
