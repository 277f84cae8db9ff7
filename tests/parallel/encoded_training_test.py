"""Workers that exchange fewer bytes still train the same model."""

import pytest
from group_programs import preamble

ENCODED = """
gradients, activations = ENCODINGS
folder = os.path.join(FOLDER, "state")


def make_wide():
    keras.utils.set_random_seed(1)
    inputs = keras.Input((64,))
    x = keras.layers.Dense(128, "relu", name="wide")(inputs)
    x = keras.layers.Dense(64, "relu", name="whole")(x)
    model = keras.Model(inputs, keras.layers.Dense(1)(x))
    model.compile(keras.optimizers.SGD(0.05), "mse")
    ptf.parallel.tag(model.get_layer("wide"), "model", axis="columns")
    ptf.parallel.tag(model.get_layer("whole"), "data")
    return model


def trained(encode, epochs=20):
    model = make_wide()
    plan = ptf.parallel.plan(model, batch_size=32)
    if encode:
        plan = plan.encode(gradients, activations)
    applied = plan.apply(model)
    model.fit(dense, epochs=epochs, shuffle=False, verbose=0)
    return model, applied


def resumed(saved):
    # A new model, which trains from the second half on.
    model, applied = trained(True, epochs=1)
    model.load_weights(saved)
    applied.load_state(folder)
    model.fit(dense, epochs=10, shuffle=False, verbose=0)
    return model


x = random.normal(size=(320, 64)).astype("float32")
y = np.maximum(x[:, :4].sum(1, keepdims=True), 0)
dense = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
with strategy.scope():
    plain, _ = trained(False)
    model, applied = trained(True)
    losses = [each.evaluate(dense, verbose=0) for each in (plain, model)]
    weights = listed(model.get_weights())

    half, applied = trained(True, epochs=10)
    saved = os.path.join(FOLDER, f"worker_{INDEX}.weights.h5")
    half.save_weights(saved)
    applied.save_state(folder)
    names = sorted(applied._state())
    again = listed(resumed(saved).get_weights())
    difference = max(np.abs(np.subtract(a, b)).max() for a, b in zip(weights, again))
say(losses=losses, weights=weights, names=names, difference=difference)
"""


def check(encodings, run_workers, tmp_path, tolerance):
    program = preamble() + ENCODED.replace("FOLDER", repr(str(tmp_path))).replace(
        "ENCODINGS", encodings
    )
    first, second = [ended.result() for ended in run_workers(program)]
    assert first["weights"] == second["weights"]
    plain, encoded = first["losses"]
    assert plain < 0.05
    assert encoded < plain + tolerance
    # A model goes on where it had stopped.
    assert first["difference"] < 1e-6
    return first["names"]


@pytest.mark.slow
def test_a_threshold_for_gradients_and_activations(run_workers, tmp_path):
    # Half of the inputs are not sent in training, and the model is evaluated with all.
    encodings = "ptf.parallel.Threshold(0.05), ptf.parallel.Threshold(0.5)"
    names = check(encodings, run_workers, tmp_path, tolerance=0.15)
    assert any(name.startswith("gradients/all/") for name in names)
    assert any(name.startswith("wide/gather/") for name in names)


@pytest.mark.slow
def test_numbers_of_fewer_bits(run_workers, tmp_path):
    encodings = "ptf.parallel.Int8(), ptf.parallel.Float16()"
    check(encodings, run_workers, tmp_path, tolerance=0.01)
