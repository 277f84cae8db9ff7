"""Windows of steps, and the losses of the first and last steps."""

import pytest
import step_windows
from step_windows import Losses, StepWindows


def test_windows_begin_after_the_warm_up_and_end_training():
    windows = StepWindows(count=2, seconds=0.0, warm_up_steps=3)
    assert [windows.step() for _ in range(5)] == [True, True, True, True, False]
    assert windows.total_steps == 5
    assert [steps for steps, _ in windows.measured] == [1, 1]


def test_processor_time_is_that_of_the_windows(monkeypatch):
    used = iter([5.0, 7.0, 25.0, 47.0])
    monkeypatch.setattr(step_windows, "cpu_seconds", lambda pid: next(used))
    windows = StepWindows(2, 0.0, warm_up_steps=3, pids=[1, 2])
    while windows.step():
        pass
    assert windows.cpu_seconds == 60
    assert windows.cpu_us_per_sample(batch=1000) == 30_000


def test_losses_may_be_given_as_means_so_far():
    values = [1.0 / (step + 1) for step in range(35)]
    single, means = Losses(), Losses()
    for step, value in enumerate(values):
        single.add(value)
        means.add_mean(sum(values[: step + 1]) / (step + 1))
    expected = {
        "first_loss": sum(values[:10]) / 10,
        "last_loss": sum(values[-10:]) / 10,
    }
    assert single.figures() == pytest.approx(expected)
    assert means.figures() == pytest.approx(expected)


def test_few_steps_show_nothing():
    losses = Losses()
    losses.add(1.0)
    with pytest.raises(ValueError, match="1 steps are too few"):
        losses.figures()
