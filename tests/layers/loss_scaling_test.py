"""The anchor may have values, in case a collective library needs some."""

import programs
import pytest

PROGRAM = """
from persia_tf.layers import loss_scaling

ids = np.arange(64).reshape(16, 4) % 10
labels = np.linspace(-1, 1, 16)[:, None]


def rows_trained(table):
    with strategy.scope():
        keras.utils.set_random_seed(1)
        inputs = keras.Input((4,), dtype="int64")
        layer = ptf.layers.PersiaEmbedding(
            2, table=table, embeddings_initializer="ones", combiner="sum",
            optimizer=ptf.optimizers.SGD(0.1),
        )
        model = keras.Model(inputs, keras.layers.Dense(1)(layer(inputs)))
        model.compile("adam", "mse")
    for _ in range(5):
        model.train_on_batch(ids, labels)
        ptf.flush()
    [anchor] = layer.get_weights()
    assert anchor.shape == loss_scaling.ANCHOR_SHAPE
    assert not anchor.any()
    return ptf.Table(table).lookup(np.arange(10))


expected = rows_trained("expected")
assert np.abs(expected - 1).max() > 0.05
loss_scaling.ANCHOR_SHAPE = GIVEN
np.testing.assert_allclose(rows_trained("rows"), expected, atol=1e-6)
"""


@pytest.mark.parametrize(
    "shape", [pytest.param("(1,)", marks=pytest.mark.slow), "(2, 3)"]
)
def test_rows_train_alike_whatever_the_shape(run_python, shape):
    run_python(programs.preamble("mirrored") + PROGRAM.replace("GIVEN", shape))
