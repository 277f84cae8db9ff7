"""One worker of hierarchical_bench.py: trains a model on random data.

TF_CONFIG names the workers. The last line is one JSON object with the seconds of each
step, without the first ones.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from typing import Any

_WARM_UP = 3
_TIMEOUT_SECONDS = 300

# The ways to train: the strategy, and whether there is a plan. "whole" has a plan in
# which no layer is divided.
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


def train(arguments: argparse.Namespace) -> dict[str, Any]:
    """Trains; returns what this worker measured."""
    import tensorflow as tf

    import persia_tf as ptf
    from persia_tf._keras import keras

    tf.config.threading.set_intra_op_parallelism_threads(arguments.threads)
    options = tf.distribute.experimental.CommunicationOptions(
        timeout_seconds=_TIMEOUT_SECONDS
    )
    if arguments.way == "plain":
        strategy = ptf.distribute.MultiWorkerMirroredStrategy(
            communication_options=options
        )
    else:
        strategy = ptf.distribute.HierarchicalStrategy(
            arguments.group_size, communication_options=options
        )
    workers = strategy.num_replicas_in_sync
    examples = arguments.batch * workers
    data = tf.data.Dataset.from_tensors(
        (
            tf.random.stateless_normal((examples, arguments.width), (1, 2)),
            tf.random.stateless_uniform((examples, 1), (3, 4)),
        )
    ).repeat(_WARM_UP + arguments.steps)
    seconds: list[float] = []

    class Meter(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            self.began = time.perf_counter()

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            seconds.append(time.perf_counter() - self.began)

    with strategy.scope():
        keras.utils.set_random_seed(1)
        model = MODELS[arguments.model](keras, arguments.width)
        model.compile(arguments.optimizer, "mse")
        plan = None
        if arguments.way != "plain":
            if arguments.way == "whole":
                ptf.parallel.tag(model, "data", pattern="*")
            plan = ptf.parallel.plan(model, examples)
            for name, axis in arguments.place or ():
                placement = "data" if axis == "whole" else "model"
                plan = plan.place(name, placement, None if axis == "whole" else axis)
            plan.apply(model)
        model.fit(data, verbose=0, callbacks=[Meter()])
    return {
        "seconds": seconds[_WARM_UP:],
        "plan": str(plan) if plan else None,
        "predicted": plan.step_seconds if plan else None,
        "parameters": sum(layer.parameters for layer in plan.layers) if plan else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--way", choices=WAYS, required=True)
    add("--model", choices=MODELS, required=True)
    add("--width", type=int, required=True)
    add("--batch", type=int, required=True, help="examples per worker")
    add("--group-size", type=int)
    add("--optimizer", default="adam")
    add("--steps", type=int, required=True)
    add("--threads", type=int, default=1)
    add("--place", nargs=2, action="append", metavar=("LAYER", "AXIS"))
    arguments = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    print(json.dumps(train(arguments)), flush=True)
    os._exit(0)  # Without waiting for the other workers' servers.


if __name__ == "__main__":
    main()
