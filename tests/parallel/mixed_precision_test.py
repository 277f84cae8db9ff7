"""Divided layers in mixed precision, with a loss scaler where numbers are float16."""

import json

import numpy as np
import pytest
from group_programs import preamble

TRAIN = """
keras.mixed_precision.set_global_policy("POLICY")
examples = random.normal(size=(240, 16)).astype("float32")
targets = (examples[:, :1] + examples[:, 1:2] > 0).astype("float32")
data = tf.data.Dataset.from_tensor_slices((examples, targets)).batch(24)


def make_model():
    keras.utils.set_random_seed(1)
    inputs = keras.Input((16,))
    x = keras.layers.Dense(64, "relu", name="wide", kernel_regularizer="l2")(inputs)
    x = keras.layers.Dense(32, "relu", name="narrow")(x)
    outputs = keras.layers.Dense(1, "sigmoid", name="head", dtype="float32")(x)
    model = keras.Model(inputs, outputs)
    model.compile(keras.optimizers.SGD(0.05, momentum=0.9), "binary_crossentropy")
    return model


with strategy.scope():
    model = make_model()
    if strategy.workers > 1:
        divide(model, wide="columns", narrow="rows")
    before = model.get_weights()
    fit = model.fit(data, epochs=5, shuffle=False, verbose=0)
after = model.get_weights()
moved = [np.abs(a - b).max() for a, b in zip(after, before)]
say(weights=listed(after), moved=moved, losses=fit.history["loss"])
"""


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_a_group_trains_as_one_process(policy, run_workers, run_python):
    program = preamble() + TRAIN.replace("POLICY", policy)
    expected = json.loads(run_python(program).splitlines()[-1])
    first, second = [ended.result() for ended in run_workers(program)]
    assert first == second
    assert first["losses"] == pytest.approx(expected["losses"], rel=0.02)
    for found, there, moved in zip(
        first["weights"], expected["weights"], expected["moved"], strict=True
    ):
        assert np.abs(np.subtract(found, there)).max() < 0.1 * moved


OVERFLOW = """
keras.mixed_precision.set_global_policy("mixed_float16")
with strategy.scope():
    inputs = keras.Input((8,))
    outputs = keras.layers.Dense(8, use_bias=False, name="wide")(inputs)
    model = keras.Model(inputs, outputs)
    model.compile("sgd", "mse")
    ptf.parallel.tag(model.get_layer("wide"), "model", axis="columns")
    ptf.parallel.plan(model, batch_size=8).apply(model)
    model.optimizer.build(model.trainable_variables)
    scaler = model.optimizer
    [kernel] = model.trainable_variables

    @tf.function
    def step(gradient):
        strategy.run(lambda: scaler.apply_gradients([(gradient, kernel)]))

    def take(gradient):
        before = model.get_weights()[0]
        step(tf.fill(kernel.shape, gradient))
        scale = scaler.dynamic_scale if IS_KERAS_3 else scaler.loss_scale
        moved = np.abs(model.get_weights()[0] - before).max()
        return [moved, float(tf.convert_to_tensor(scale))]

    # The gradient of one worker's part is infinite at first.
    say(steps=[take(np.inf if INDEX == 1 else 1.0), take(1.0)])
"""


@pytest.mark.slow
def test_all_workers_leave_out_a_step_that_overflows_on_one(run_workers):
    for ended in run_workers(preamble() + OVERFLOW):
        (moved, scale), (moved_then, scale_then) = ended.result()["steps"]
        assert moved == 0
        assert scale == scale_then == 2**14
        assert moved_then > 0


ENCODED = """
keras.mixed_precision.set_global_policy("mixed_float16")
with strategy.scope():
    model = make_model()
    plan = ptf.parallel.plan(model, batch_size=24)
    try:
        plan.encode(gradients=ptf.parallel.Int8()).apply(model)
    except ValueError as error:
        say(raised=str(error))
"""


def test_encodings_are_refused(run_python):
    raised = json.loads(run_python(preamble() + ENCODED).splitlines()[-1])["raised"]
    assert "needs an optimizer without loss scaling" in raised
