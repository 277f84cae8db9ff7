"""Times a model's steps on this machine, with shards that nothing else uses."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from persia_tf.layers.replicas import strategy_of
from persia_tf.ops.stand_in import stood_in_by
from persia_tf.planning.model_tables import ModelTable
from persia_tf.planning.step_clock import StepClock, TimedSteps
from persia_tf.planning.trial_shards import trial_sessions
from persia_tf.planning.unchanged import unchanged

_ENDLESS = 10**6
_MOST_KEPT = 64


class KeptBatches(Iterator[Any]):
    """Passes the batches of an iterator on, and keeps the first ones of them.

    Args:
        batches: An iterator, which can be read only once.

    Attributes:
        kept: The first batches that were read.
    """

    def __init__(self, batches: Iterator[Any]) -> None:
        self._batches = batches
        self.kept: list[Any] = []

    def __next__(self) -> Any:
        batch = next(self._batches)
        if len(self.kept) < _MOST_KEPT:
            self.kept.append(batch)
        return batch


def tried_step(
    model: Any,
    sample: Iterable[Any],
    steps: int,
    tables: Sequence[ModelTable],
    shards: int,
) -> TimedSteps:
    """Measures the time of a model's step with shards on this machine.

    The model is trained by `fit` for some seconds, and is then as it was before. Its
    rows are meanwhile on shards that are started for it, so the model's own shards are
    not asked, and no row of its tables is created or changed.

    Args:
        model: A Keras model that is compiled and built.
        sample: Batches as `fit` takes them, which `check_can_be_timed` has passed.
        steps: How many of them there are.
        tables: The model's tables.
        shards: How many shards are started.

    Raises:
        UnavailableError: if a shard does not start.
        ValueError: if the model cannot be trained with these batches.
    """
    clock = StepClock()
    with contextlib.ExitStack() as stack:
        sessions = stack.enter_context(trial_sessions(tables, shards))
        stack.enter_context(unchanged(model))
        stack.enter_context(stood_in_by(sessions))
        try:
            model.fit(
                _repeated(sample, steps),
                steps_per_epoch=_ENDLESS,
                shuffle=False,
                verbose=0,
                callbacks=[clock],
            )
        except Exception as error:  # The model's own code may raise anything.
            raise ValueError(
                "`time=True` trains the model for some seconds, and `fit` failed with "
                "the batches of `sample`: give them with labels, as `fit` will get "
                "them, or give `step_seconds` instead of `time`. Received: a sample "
                f"with which it raised: {error}"
            ) from error
    timed = clock.timed()
    if timed is None:
        raise ValueError(
            "`time=True` must time two steps or more, and `fit` ended before: give "
            "`step_seconds` instead of `time`. Received: a model whose training stops "
            "in its first step"
        )
    return timed


def check_can_be_timed(model: Any) -> None:
    """Raises ValueError for a model whose own step cannot be measured."""
    if getattr(model, "optimizer", None) is None:
        raise ValueError(
            "`model` must be compiled if `time` is True, since it is trained for some "
            "seconds: call `model.compile` first, or give `step_seconds` instead. "
            "Received: a model that is not compiled"
        )
    strategy = strategy_of(model)
    replicas = 1 if strategy is None else strategy.num_replicas_in_sync
    if replicas > 1:
        raise ValueError(
            "`model` must have one replica if `time` is True: give `step_seconds` "
            "instead, or plan with a model that was made outside of the strategy's "
            f"scope. Received: a model with {replicas} replicas"
        )


def _repeated(sample: Iterable[Any], steps: int) -> Any:
    """Returns the batches of a sample for `fit`, without an end."""
    if isinstance(sample, tf.data.Dataset):
        return sample.take(steps).repeat()
    batches = sample.kept if isinstance(sample, KeptBatches) else sample
    return _cycled(list(itertools.islice(batches, min(steps, _MOST_KEPT))))


def _cycled(batches: list[Any]) -> Iterator[Any]:
    # Keras takes generators, and no other iterators.
    yield from itertools.cycle(batches)
