"""Windows of steps, and the losses of the first and last steps."""

import pytest
from step_windows import Losses, StepWindows


def test_windows_begin_after_the_warm_up_and_end_training():
    windows = StepWindows(count=2, seconds=0.0, warm_up_steps=3)
    assert [windows.step() for _ in range(5)] == [True, True, True, True, False]
    assert windows.total_steps == 5
    assert [steps for steps, _ in windows.measured] == [1, 1]


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
