"""Sequences of divided layers, whose lengths differ between steps, or workers."""

import numpy as np
import pytest
from group_programs import preamble

pytestmark = pytest.mark.slow

LAYERS = {
    "columns": "keras.layers.Dense(8, name='it')(x)",
    "rows": "keras.layers.EinsumDense('btc,cd->btd', (None, 8), name='it')(x)",
    "heads": "keras.layers.MultiHeadAttention(2, 4, name='it')(x, x)",
}

TRAIN = """
# The length of each step's sequences on each worker.
LENGTHS = GIVEN
spec = (tf.TensorSpec([None, None, 8]), tf.TensorSpec([None, 1]))


def own_data(context=None):
    def examples():
        numbers = np.random.default_rng(INDEX)
        for length in LENGTHS[INDEX]:
            yield numbers.normal(size=(4, length, 8)), numbers.normal(size=(4, 1))

    return tf.data.Dataset.from_generator(examples, output_signature=spec)


@tf.function(input_signature=[spec[0]])
def outputs(x):
    return model(x, training=False)


with strategy.scope():
    keras.utils.set_random_seed(1)
    inputs = x = keras.Input((None, 8))
    x = keras.layers.GlobalAveragePooling1D()(LAYER)
    model = keras.Model(inputs, keras.layers.Dense(1, name="head")(x))
    model.compile("sgd", "mse")
    ptf.parallel.tag(model.get_layer("head"), "data")
    ptf.parallel.tag(model.get_layer("it"), "model", axis="AXIS")
    plan = ptf.parallel.plan(model, batch_size=8, inputs=np.zeros((8, 5, 8)))
    applied = plan.apply(model)
    try:
        model.fit(
            strategy.distribute_datasets_from_function(own_data),
            steps_per_epoch=len(LENGTHS[0]),
            verbose=0,
        )
    except tf.errors.InvalidArgumentError as error:
        say(raised=str(error))
        os._exit(0)  # Their collective operations have failed.
    [[x, _], *_] = own_data()
    divided = outputs(x).numpy()
    with applied.whole():
        whole = model(x).numpy()
difference = np.abs(divided - whole).max()
say(difference=difference, weights=listed(model.get_weights()))
"""


def program(axis, lengths):
    train = TRAIN.replace("GIVEN", repr(lengths)).replace("AXIS", axis)
    return preamble() + train.replace("LAYER", LAYERS[axis])


@pytest.mark.parametrize("axis", list(LAYERS))
def test_lengths_that_differ_between_steps(axis, run_workers):
    steps = [5, 3, 7, 1, 5]
    results = [ended.result() for ended in run_workers(program(axis, [steps, steps]))]
    for result in results:
        assert result["difference"] < 1e-5
    weights = [result["weights"] for result in results]
    assert all(np.array_equal(*pair) for pair in zip(*weights))


@pytest.mark.parametrize("axis", list(LAYERS))
def test_lengths_that_differ_between_workers(axis, run_workers):
    for ended in run_workers(program(axis, [[5, 5], [5, 7]])):
        raised = ended.result()["raised"]
        assert "must have examples of the same sizes" in raised
        assert "[5 8]" in raised
        assert "[7 8]" in raised
