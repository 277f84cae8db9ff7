"""The figures computed from the turns of one worker and of two."""

import pytest
import worker_scaling


def turn(rate, **cpus):
    return {"samples_per_second": rate, "cpus": cpus}


TURNS = {
    "one_worker": [turn(1e5, w0=1.0, s0=0.2), turn(2e5, w0=0.9, s0=0.4)],
    "two_workers": [
        turn(1.5e5, w0=0.8, w1=0.7, s0=0.3),
        turn(2.4e5, w0=0.8, w1=0.9, s0=0.3),
    ],
}


def test_each_turn_is_compared_with_its_own():
    figures = worker_scaling.figures_of(TURNS)
    assert figures["two_workers_over_one"] == pytest.approx(1.35)
    assert figures["two_workers_over_one_least"] == pytest.approx(1.2)
    assert figures["two_workers_over_one_most"] == pytest.approx(1.5)
    assert figures["cpu_us_per_sample"]["one_worker"] == pytest.approx(9.25)
    assert figures["cpus"]["two_workers"] == pytest.approx(
        {"w0": 0.8, "w1": 0.8, "s0": 0.3}
    )


def test_the_section_has_the_processor_time_of_each_process():
    setup = dict.fromkeys(
        ["turns", "cores", "shards", "batch", "windows", "steps", "tensorflow"], 2
    )
    setup.update(keras=3, load_average_before=0, load_average_after=0)
    text = worker_scaling.markdown(worker_scaling.figures_of(TURNS), setup)
    assert (
        "| workers | samples a second | w0 | w1 | s0 | all | µs a sample, all |" in text
    )
    assert "| 1 | 150,000 | 0.95 |  | 0.30 | 1.25 | 9.2 |" in text
    assert "| 2 | 195,000 | 0.80 | 0.80 | 0.30 | 1.90 | 10.2 |" in text
