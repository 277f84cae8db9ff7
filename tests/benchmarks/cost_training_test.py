"""What a training program takes is found from how fast it trains."""

import dataclasses

import cost_training
import pytest
from cost_training import Dense, Trained, Training, median_of, trainer_work

from persia_tf.simulation.costs import Work, measured_costs
from persia_tf.simulation.simulate import simulate

LARGE, SMALL = 2048, 256


@pytest.fixture(autouse=True)
def known_rows(monkeypatch):
    monkeypatch.setattr(cost_training, "rows_of", lambda batch: 6 * batch)


def rate(training, trainer):
    costs = dataclasses.replace(measured_costs(), trainer=trainer)
    setup = cost_training.setup_of(training)
    return simulate(setup, costs=costs, steps=100).per_second


def test_simulated_training_is_as_fast_as_measured():
    took = Work(call=4e-3, table=1e-4, row=2e-7)
    dense = {LARGE: Dense(0.02, 1.6), SMALL: Dense(0.004, 1.3)}
    trainings = [
        Training(batch, layers, dense[batch])
        for batch in (LARGE, SMALL)
        for layers in (1, 26)
    ]
    found = {t: Trained(rate(t, took), cpu_seconds=1.5 * 0.02) for t in trainings}
    fitted = trainer_work(measured_costs(), found)
    for batch in (LARGE, SMALL):
        faster = 1.0
        for training in trainings:
            if training.batch == batch:
                faster *= rate(training, fitted) / found[training].per_second
        assert faster**0.5 == pytest.approx(1.0, rel=0.03)


def test_the_dense_part_is_the_median_of_rounds():
    parts = [Dense(1.0, 1.5), Dense(3.0, 1.9), Dense(2.0, 1.7)]
    assert median_of(parts) == Dense(2.0, 1.7)
