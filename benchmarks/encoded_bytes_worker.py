"""One worker of encoded_bytes.py: trains dense layers on random data.

TF_CONFIG names the workers. The last line is one JSON object with the bytes that this
worker's machine sends in a step.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

_SETTLING_STEPS = 5
_TIMEOUT_SECONDS = 300
_SENT = Path("/sys/class/net/wire/statistics/tx_bytes")


def train(arguments: argparse.Namespace) -> dict[str, Any]:
    """Trains; returns what this worker measured."""
    import tensorflow as tf

    import persia_tf as ptf
    from persia_tf._keras import keras

    tf.config.threading.set_intra_op_parallelism_threads(1)
    strategy = ptf.distribute.HierarchicalStrategy(
        communication_options=tf.distribute.experimental.CommunicationOptions(
            timeout_seconds=_TIMEOUT_SECONDS
        )
    )
    threshold = ptf.parallel.Threshold(arguments.keep, values=arguments.values)
    first_steps = threshold.warmup + _SETTLING_STEPS
    examples = arguments.batch * strategy.workers
    width = 1 if arguments.side == "nothing" else arguments.width
    data = tf.data.Dataset.from_tensors(
        (
            tf.random.stateless_normal((examples, width), (1, 2)),
            tf.random.stateless_uniform((examples, 1), (3, 4)),
        )
    ).repeat(first_steps + arguments.steps)
    sent: list[int] = []

    class Meter(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            sent.append(int(_SENT.read_text()))

    encodings = {arguments.side: threshold} if arguments.encoded else {}
    with strategy.scope():
        keras.utils.set_random_seed(1)
        model = _model(keras, arguments)
        model.compile("sgd", "mse")
        ptf.parallel.tag(model, "data", pattern="*")
        if arguments.side == "activations":
            ptf.parallel.tag(model, "model", axis="columns", pattern="wide_*")
        plan = ptf.parallel.plan(model, examples, verbose=0).encode(**encodings)
        plan.apply(model)
        model.fit(data, verbose=0, callbacks=[Meter()])
    return {"bytes": (sent[-1] - sent[first_steps - 1]) / arguments.steps}


def _model(keras: Any, arguments: argparse.Namespace) -> Any:
    """Returns wide layers and a head; or, on the side "nothing", two weights."""
    if arguments.side == "nothing":
        inputs = x = keras.Input((1,))
    else:
        inputs = x = keras.Input((arguments.width,))
        for i in range(arguments.layers):
            x = keras.layers.Dense(arguments.width, "relu", name=f"wide_{i}")(x)
    return keras.Model(inputs, keras.layers.Dense(1, name="head")(x))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--side", choices=("gradients", "activations", "nothing"), required=True)
    add("--encoded", action="store_true", help="by `Threshold`")
    add("--keep", type=float, required=True, help="of `Threshold`")
    add("--values", required=True, help="of `Threshold`")
    add("--width", type=int, required=True)
    add("--layers", type=int, required=True)
    add("--batch", type=int, required=True, help="examples per worker")
    add("--steps", type=int, required=True)
    arguments = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    print(json.dumps(train(arguments)), flush=True)
    os._exit(0)  # Without waiting for the other workers' servers.


if __name__ == "__main__":
    main()
