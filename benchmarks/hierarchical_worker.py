"""One worker of hierarchical_runs.py: trains a model on random data.

TF_CONFIG names the workers. The last line is one JSON object with the seconds of each
step, without the first ones, for each plan.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import time
from collections.abc import Callable
from typing import Any

_WARM_UP = 3
_TIMEOUT_SECONDS = 300

# The ways to train: the strategy, and whether there is a plan. "whole" has a plan in
# which no layer is divided. "many" trains by many plans in turn.
WAYS = ("plain", "whole", "planned")


def wide(keras: Any, width: int) -> Any:
    """Four dense layers of `width` units each."""
    inputs = keras.Input((width,))
    x = inputs
    for i in range(4):
        x = keras.layers.Dense(width, "relu", name=f"wide_{i}")(x)
    return keras.Model(inputs, keras.layers.Dense(1)(x))


def narrow(keras: Any, width: int) -> Any:
    """The dense part of a click model: 256, 128 and 1 units."""
    inputs = keras.Input((width,))
    x = keras.layers.Dense(256, "relu", name="first")(inputs)
    x = keras.layers.Dense(128, "relu", name="second")(x)
    return keras.Model(inputs, keras.layers.Dense(1)(x))


def tower(keras: Any, width: int) -> Any:
    """A pyramid of dense layers: width, width / 2, width / 4, ..."""
    inputs = x = keras.Input((width,))
    while width >= 64:
        x = keras.layers.Dense(width, "relu", name=f"units_{width}")(x)
        width //= 2
    return keras.Model(inputs, keras.layers.Dense(1)(x))


MODELS: dict[str, Callable[[Any, int], Any]] = {
    "wide": wide,
    "narrow": narrow,
    "tower": tower,
}


def train(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Trains; returns what this worker measured, for each plan."""
    import tensorflow as tf

    import persia_tf as ptf
    from persia_tf._keras import keras

    tf.config.threading.set_intra_op_parallelism_threads(arguments.threads)
    tf.config.threading.set_inter_op_parallelism_threads(
        int(os.environ.get("INTER", "0"))
    )
    strategy = strategy_of(arguments)
    examples = arguments.batch * strategy.num_replicas_in_sync
    data = tf.data.Dataset.from_tensors(
        (
            tf.random.stateless_normal((examples, arguments.width), (1, 2)),
            tf.random.stateless_uniform((examples, 1), (3, 4)),
        )
    ).repeat(_WARM_UP + arguments.steps)

    with strategy.scope():
        keras.utils.set_random_seed(1)
        model = MODELS[arguments.model](keras, arguments.width)
        model.compile(arguments.optimizer, "mse")
        if arguments.way == "plain":
            return [{"seconds": step_seconds(model, data)}]
        plan = ptf.parallel.plan(model, examples, verbose=0)
        plans = {
            "planned": lambda: [plan],
            "whole": lambda: [whole_of(plan)],
            "many": lambda: many_of(plan, arguments.plans),
        }
        return [measured(model, data, each) for each in plans[arguments.way]()]


def strategy_of(arguments: argparse.Namespace) -> Any:
    """Returns the strategy of a way to train."""
    import tensorflow as tf

    import persia_tf as ptf

    options = tf.distribute.experimental.CommunicationOptions(
        timeout_seconds=_TIMEOUT_SECONDS
    )
    if arguments.way == "plain":
        return ptf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    return ptf.distribute.HierarchicalStrategy(
        arguments.group_size, communication_options=options
    )


def step_seconds(model: Any, data: Any) -> list[float]:
    """Trains; returns the seconds from the end of a step to that of the next."""
    from persia_tf._keras import keras

    ends: list[float] = []

    class Meter(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            ends.append(time.perf_counter())

    model.fit(data, verbose=0, callbacks=[Meter()])
    ends = ends[_WARM_UP - 1 :]
    return [end - begin for begin, end in zip(ends, ends[1:])]


def measured(model: Any, data: Any, plan: Any) -> dict[str, Any]:
    """Trains by a plan; returns its steps and what it predicts."""
    applied = plan.apply(model)
    seconds = step_seconds(model, data)
    applied.remove()
    return {
        "seconds": seconds,
        "predicted": plan.step_seconds,
        "axes": axes_of(plan),
        "table": str(plan),
    }


def axes_of(plan: Any) -> tuple[str | None, ...]:
    """Returns the axis along which each layer is divided."""
    return tuple(layer.axis for layer in plan.layers)


def whole_of(plan: Any) -> Any:
    """Returns a plan in which no layer is divided."""
    for layer in plan.layers:
        plan = plan.place(layer.name, "data")
    return plan


def many_of(plan: Any, count: int) -> list[Any]:
    """Returns the plan itself, the one that divides nothing, and random ones."""
    whole = whole_of(plan)
    plans = {axes_of(each): each for each in (plan, whole)}
    chance = random.Random(1)
    possible = math.prod(1 + len(layer.divisions) for layer in plan.layers)
    while len(plans) < min(count, possible):
        other = whole
        for layer in plan.layers:
            axis = chance.choice([None, *layer.divisions])
            if axis:
                other = other.place(layer.name, "model", axis)
        plans[axes_of(other)] = other
    return list(plans.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--way", choices=(*WAYS, "many"), required=True)
    add("--model", choices=MODELS, required=True)
    add("--width", type=int, required=True)
    add("--batch", type=int, required=True, help="examples per worker")
    add("--group-size", type=int)
    add("--optimizer", default="adam")
    add("--steps", type=int, required=True)
    add("--threads", type=int, default=1)
    add("--plans", type=int, default=2, help="how many, with --way many")
    arguments = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    print(json.dumps({"runs": train(arguments)}), flush=True)
    os._exit(0)  # Without waiting for the other workers' servers.


if __name__ == "__main__":
    main()
