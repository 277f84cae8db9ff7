"""A program that trains a model with every layer that can be divided, on each axis."""

from __future__ import annotations

import json

import programs

# How many variables of the model train nothing: the keys' biases of attention.
KEY_BIASES = 3

_STRATEGY = """
strategy = ptf.distribute.HierarchicalStrategy(
    GROUP_SIZE,
    communication_options=tf.distribute.experimental.CommunicationOptions(
        timeout_seconds=180
    ),
)
"""

_MODEL = '''
from persia_tf.parallel.applied import AppliedPlan
from persia_tf.parallel.divided_layer import DividedLayer
from persia_tf.parallel.layout import Layout
from persia_tf.parallel.named_layers import splittable_layers
from persia_tf.parallel.splitting.splittable import splittable_of

layers = keras.layers


class Cross(layers.Layer):
    # Stands for the one of TensorFlow Recommenders, which is not installed.
    def __init__(self, projection_dim=None, **options):
        super().__init__(**options)
        self._projection_dim = projection_dim

    def build(self, shape):
        if self._projection_dim is None:
            self._dense = layers.Dense(shape[-1], name="full")
        else:
            self._dense_u = layers.Dense(self._projection_dim, use_bias=False)
            self._dense_v = layers.Dense(shape[-1], "softplus")
        self.built = True

    def call(self, x0, x=None):
        x = x0 if x is None else x
        if self._projection_dim is None:
            product = self._dense(x)
        else:
            product = self._dense_v(self._dense_u(x))
        return x0 * product + x


Cross.__module__ = "tensorflow_recommenders.layers.feature_interaction.dcn"

# The axis of each layer that is divided.
AXES = {}


def named(axis, name):
    AXES[name] = axis
    return name


def dense_branches(x, grid):
    """x: (b, 8); grid: (b, 4, 8)."""
    for axis in ("columns", "rows"):
        yield layers.Dense(8, "tanh", name=named(axis, f"dense_{axis}"))(x)
        yield layers.EinsumDense(
            "...x,xy->...y", 8, "tanh", "y", name=named(axis, f"einsum_{axis}")
        )(grid)
    yield layers.EinsumDense(
        "bei,eio->beo",
        (4, 4),
        "softplus",
        "eo",
        name=named("experts", "einsum_experts"),
    )(grid)
    yield layers.EinsumDense(
        "bi,eio->beo", (4, 4), "softmax", "o", name=named("columns", "einsum_softmax")
    )(x)
    yield layers.EinsumDense(
        "bi...,io->bo...", (12,), "tanh", "o", name=named("columns", "einsum_right")
    )(grid)
    yield layers.EinsumDense(
        "bi,eio->beo", (3, 4), bias_axes="e", name=named("columns:o", "einsum_second")
    )(x)


def embedding_branches(ids):
    for axis in ("columns", "rows"):
        yield layers.Embedding(32, 4, name=named(axis, f"embedding_{axis}"))(ids)
        masked = layers.Embedding(
            32, 8, mask_zero=True, name=named(axis, f"masked_{axis}")
        )(ids)
        yield layers.GlobalAveragePooling1D()(masked)


def attention_branches(ids, grid, hidden):
    # Larger vectors than Keras's, so that the weights of scores change too.
    large = keras.initializers.RandomUniform(-1, 1)
    masked = layers.Embedding(32, 8, large, mask_zero=True, name="sequence")(ids)

    def attention(name, **options):
        return layers.MultiHeadAttention(4, 4, name=named("heads", name), **options)

    yield attention("attention_self")(grid, grid, use_causal_mask=True)
    yield layers.GlobalAveragePooling1D()(
        attention("attention_masked", output_shape=6)(masked, masked)
    )
    # The mask comes first by name, and has an axis of size 1 for all examples.
    yield attention("attention_cross", value_dim=3, use_bias=False)(
        query=grid, value=masked, key=masked, attention_mask=tf.ones((1, 4, 5), "bool")
    )
    yield from attention("attention_scores")(
        grid, grid, attention_mask=hidden, return_attention_scores=True
    )


def cross_branches(x):
    yield Cross(name=named("columns", "recommenders_full"))(x)
    yield Cross(2, name=named("columns", "recommenders_low"))(x, layers.ReLU()(x))
    if IS_KERAS_3:
        import keras_rs

        for name, dim in (("full", None), ("low", 2)):
            yield keras_rs.layers.FeatureCross(
                dim,
                diag_scale=0.1,
                pre_activation="tanh",
                name=named("columns", f"cross_{name}"),
            )(x, layers.ReLU()(x))


def tower_branches(x, ids):
    bottom = [layers.Dense(8, "tanh"), layers.Dense(3)]
    different = [
        keras.Sequential(bottom),
        layers.Dense(5, "tanh"),
        keras.Sequential([layers.Embedding(32, 3), layers.Flatten()]),
        layers.Dense(2, use_bias=False),
        layers.Reshape((2, 4)),
    ]
    yield from ptf.parallel.Towers(different, name=named("towers", "towers"))(
        [x, x[:, :6], ids, x, x]
    )
    experts = [layers.Dense(4, "relu") for _ in range(3)]
    yield from ptf.parallel.Towers(experts, name=named("towers", "experts"))(x)


def make_model(branches):
    keras.utils.set_random_seed(1)
    inputs = {
        "x": keras.Input((8,), name="x"),
        "grid": keras.Input((4, 8), name="grid"),
        "ids": keras.Input((5,), dtype="int32", name="ids"),
        "hidden": keras.Input((4, 4), dtype="bool", name="hidden"),
    }
    flat = [layers.Flatten()(each) for each in branches(**inputs)]
    outputs = layers.Dense(1, use_bias=False, name="last")(layers.Concatenate()(flat))
    return keras.Model(inputs, outputs)


def all_branches(x, grid, ids, hidden):
    yield from dense_branches(x, grid)
    yield from embedding_branches(ids)
    yield from attention_branches(ids, grid, hidden)
    yield from cross_branches(x)
    yield from tower_branches(x, ids)


random = np.random.default_rng(0)
COUNT = 81
features = {
    "x": random.normal(size=(COUNT, 8)).astype("float32"),
    "grid": random.normal(size=(COUNT, 4, 8)).astype("float32"),
    "ids": random.integers(0, 32, (COUNT, 5)).astype("int32"),
    "hidden": random.integers(0, 2, (COUNT, 4, 4)).astype(bool),
}
features["ids"][:, 0] = np.maximum(features["ids"][:, 0], 1)  # Hides never all.
targets = np.tanh(features["x"][:, :1] * 2 + features["grid"][:, 0, :1])
'''

_TRAIN = """
class Error(keras.losses.Loss):
    # A sum, so that the examples of partial batches count alike on all workers.
    def call(self, y_true, y_pred):
        return tf.reduce_sum(tf.square(y_true - y_pred), -1) / 16


def divide(model, batch_size):
    # As a plan does, without measuring what each layer costs.
    layout = Layout(strategy)
    named = dict(splittable_layers(model))
    divided = [
        DividedLayer(
            name,
            named[name],
            axis,
            splittable_of(named[name]),
            layout.group,
            batch_size // strategy.workers,
        )
        for name, axis in AXES.items()
        if axis in splittable_of(named[name]).axes(named[name])
    ]
    assert len(divided) == len(AXES)
    return AppliedPlan(model, divided, layout)


def difference(applied):
    # Of outputs, between the divided model and the whole one.
    own = {name: each[: 5 - INDEX] for name, each in features.items()}
    divided = model(own).numpy()
    with applied.whole():
        return float(np.abs(divided - model(own).numpy()).max(initial=0))


with strategy.scope():
    model = make_model(all_branches)
    for weight in model.weights:  # Biases, which would stay close to zero.
        if not np.any(weight.numpy()):
            weight.assign(random.uniform(0.1, 0.2, weight.shape))
    before = model.get_weights()
    error = Error(reduction="sum")
    model.compile(keras.optimizers.SGD(0.002, momentum=0.9), error)
    if strategy.num_replicas_in_sync > 1:
        applied = divide(model, batch_size=16)
    model.fit(batches(features, targets), epochs=17, verbose=0)
    results = {"weights": [w.tolist() for w in model.get_weights()]}
    if strategy.num_replicas_in_sync > 1:
        results["difference"] = difference(applied)
moved = [float(np.abs(w - b).max()) for w, b in zip(model.get_weights(), before)]
names = [w.path if IS_KERAS_3 else w.name for w in model.weights]
say(names=names, moved=moved, axes=AXES, **results)
"""


def program(group_size: int | None) -> str:
    """Returns the program; one process runs it without a strategy if it is None."""
    if group_size is None:
        strategy = "strategy = tf.distribute.get_strategy()"
    else:
        strategy = _STRATEGY.replace("GROUP_SIZE", json.dumps(group_size))
    begin = programs.preamble("no strategy")
    default = "strategy = tf.distribute.get_strategy()"
    return begin.replace(default, strategy) + _MODEL + _TRAIN
