"""Training with PersiaEmbedding equals training with keras.layers.Embedding.

SGD and Adagrad are always compared with Keras. Every rule is compared with Keras where
every id occurs in every step, and otherwise with a lazy reference in NumPy, because
Keras moves absent rows too. Each test trains one layer per rule, all of them in one
graph.

Keras gets dense gradients, which are summed by id: with the sparse gradients of its
Embedding layer, Keras 3 squares the gradient of each occurrence by itself. For rules
that take a norm, Keras gets a variable for each row.
"""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

STEPS = 100
IDS = 20
DIM = 4
TOLERANCE = 1e-6
# For rules that take a norm, Keras trains only this many rows, each in a variable.
NORM_ROWS = 3

FTRL = {
    "l1_regularization_strength": 0.01,
    "l2_regularization_strength": 0.02,
    "l2_shrinkage_regularization_strength": 0.03,
    "beta": 0.04,
}
# By name: the class, and the arguments for both libraries.
RULES = {
    "sgd": ("SGD", {}),
    "momentum": ("SGD", {"momentum": 0.9}),
    "nesterov": ("SGD", {"momentum": 0.9, "nesterov": True}),
    "adagrad": ("Adagrad", {}),
    "adam": ("Adam", {}),
    "amsgrad": ("Adam", {"amsgrad": True, "beta_2": 0.9}),
    "adamw": ("AdamW", {"weight_decay": 0.1}),
    "rmsprop": ("RMSprop", {}),
    "centered": ("RMSprop", {"centered": True, "momentum": 0.5, "epsilon": 1e-3}),
    "ftrl": ("Ftrl", FTRL),
    "ftrl_power": ("Ftrl", {"learning_rate_power": -0.3}),
    "lamb": ("Lamb", {}),
    "clipnorm": ("SGD", {"clipnorm": 0.3}),
    "clipvalue": ("Adagrad", {"clipvalue": 0.1}),
    "weight_decay": ("SGD", {"weight_decay": 0.1, "momentum": 0.5}),
    "clipped_adam": ("Adam", {"clipnorm": 0.2, "weight_decay": 0.05}),
}
# Rules that Keras does not have.
OUR_OWN = {
    "rowwise_adagrad": ("RowWiseAdagrad", {}),
    "weight_bound": ("SGD", {"weight_bound": 0.1, "momentum": 0.5}),
}
BY_NORM = {"lamb", "clipnorm", "clipped_adam"}
ALWAYS_AS_KERAS = {"sgd", "adagrad", "clipvalue"}
RATE = 0.1

f32 = np.float32


def batches(every_id):
    """The (ids, targets) of each step; ids repeat within a step."""
    random = np.random.default_rng(0)
    for _ in range(STEPS):
        ids = random.integers(0, IDS, size=(16, 3))
        if every_id:
            ids = np.concatenate([ids.ravel(), np.arange(IDS), [0]])
            random.shuffle(ids)
            ids = ids.reshape(-1, 3)
        yield ids, random.normal(size=(len(ids), 3, DIM)).astype("float32")


def loss_of(rows, targets):
    # The loss is convex, so that rounding errors do not grow from step to step.
    return tf.reduce_sum(tf.square(rows - targets)) / IDS


def train_persia(table, cluster, rules, every_id):
    """Trains; returns the rows before and after, by rule."""
    layers = {
        name: ptf.layers.PersiaEmbedding(
            DIM,
            table=f"{table}_{name}",
            optimizer=getattr(ptf.optimizers, cls)(RATE, **arguments),
            cluster=cluster,
        )
        for name, (cls, arguments) in rules.items()
    }
    everything = tf.range(IDS, dtype=tf.int64)
    start = {
        k: np.array(layer(everything, training=True)) for k, layer in layers.items()
    }
    anchors = [layer.trainable_variables[0] for layer in layers.values()]
    keras_optimizer = keras.optimizers.SGD()
    keras_optimizer.build(anchors)

    @tf.function
    def step(ids, targets):
        with tf.GradientTape() as tape:
            loss = tf.add_n(
                [
                    loss_of(layer(ids, training=True), targets)
                    for layer in layers.values()
                ]
            )
        gradients = tape.gradient(loss, anchors)
        keras_optimizer.apply_gradients(zip(gradients, anchors))

    for ids, targets in batches(every_id):
        step(tf.constant(ids), tf.constant(targets))
        cluster.flush()
    end = {
        k: np.array(layer(everything, training=False)) for k, layer in layers.items()
    }
    return start, end


def train_keras(start, rules, every_id):
    """Returns rows after training, by rule: only some if the rule takes a norm."""
    variables, optimizers = {}, {}
    for name, (cls, arguments) in rules.items():
        rows = start[name]
        parts = np.split(rows[:NORM_ROWS], NORM_ROWS) if name in BY_NORM else [rows]
        variables[name] = [tf.Variable(part) for part in parts]
        optimizers[name] = getattr(keras.optimizers, cls)(RATE, **arguments)
        optimizers[name].build(variables[name])

    @tf.function
    def step(ids, targets):
        for name, optimizer in optimizers.items():
            with tf.GradientTape() as tape:
                table = tf.concat(variables[name], axis=0)
                rows = tf.gather(table, tf.minimum(ids, len(table) - 1))
                is_trained = tf.cast(ids < len(table), tf.float32)[..., None]
                loss = loss_of(rows * is_trained, targets * is_trained)
            gradients = tape.gradient(loss, variables[name])
            optimizer.apply_gradients(
                (tf.convert_to_tensor(g), v) for g, v in zip(gradients, variables[name])
            )

    for ids, targets in batches(every_id):
        step(tf.constant(ids), tf.constant(targets))
    return {k: np.concatenate(parts) for k, parts in variables.items()}


def assert_same_rows(rows, expected):
    """Checks that the rows of every rule are as expected."""
    errors = {
        name: float(np.abs(rows[name][: len(expected[name])] - expected[name]).max())
        for name in expected
    }
    wrong = {name: e for name, e in errors.items() if not e <= TOLERANCE}
    assert wrong == {}


def keras_rules(names):
    # tf_keras has no Lamb.
    return {k: RULES[k] for k in names if hasattr(keras.optimizers, RULES[k][0])}


def test_equals_keras_where_every_id_occurs_in_every_step(table, cluster):
    rules = keras_rules(RULES)
    start, rows = train_persia(table, cluster, rules, every_id=True)
    assert_same_rows(rows, train_keras(start, rules, every_id=True))
    for name in rules:
        assert np.abs(rows[name] - start[name]).max() > 0.1, name


def test_equals_keras_or_a_lazy_reference_where_ids_are_absent(table, cluster):
    rules = {**RULES, **OUR_OWN}
    start, rows = train_persia(table, cluster, rules, every_id=False)
    always = keras_rules(ALWAYS_AS_KERAS)
    assert_same_rows(rows, train_keras(start, always, every_id=False))
    assert_same_rows(rows, {k: train_lazily(start[k], *rules[k]) for k in rules})


@pytest.mark.parametrize("name", ["momentum", "adam"])
def test_is_lazy_where_keras_moves_absent_rows(name, table):
    rules = {name: RULES[name]}
    start, rows = train_persia(table, ptf.Cluster.embedded(), rules, every_id=False)
    keras_rows = train_keras(start, rules, every_id=False)
    assert np.abs(rows[name] - keras_rows[name]).max() > 1e-2


# The formulas of the papers, on a row and its state, in float32.


def sgd(row, state, g, momentum=0.0, nesterov=False):
    step = f32(RATE) * g
    if momentum == 0:
        return row - step
    velocity = f32(momentum) * state.get("v", f32(0)) - step
    state["v"] = velocity
    return row + (f32(momentum) * velocity - step if nesterov else velocity)


def adagrad(row, state, g):
    state["n"] = state.get("n", f32(0.1)) + g**2
    return row - f32(RATE) * g / np.sqrt(state["n"] + f32(1e-7))


def rowwise_adagrad(row, state, g):
    state["n"] = state.get("n", f32(0.1)) + np.mean(g**2)
    return row - f32(RATE) * g / np.sqrt(state["n"] + f32(1e-7))


def moments(state, g, beta_1=0.9, beta_2=0.999):
    """Returns m, v, and their bias corrections."""
    t = state["t"] = state.get("t", 0) + 1
    m, v = state.get("m", np.zeros_like(g)), state.get("v", np.zeros_like(g))
    state["m"] = m + (g - m) * f32(1 - beta_1)
    state["v"] = v + (g**2 - v) * f32(1 - beta_2)
    return state["m"], state["v"], 1 - f32(beta_1) ** t, 1 - f32(beta_2) ** t


def adam(row, state, g, amsgrad=False, beta_2=0.999):
    m, v, correction_1, correction_2 = moments(state, g, beta_2=beta_2)
    if amsgrad:
        v = state["v_hat"] = np.maximum(v, state.get("v_hat", f32(0)))
    alpha = f32(RATE) * np.sqrt(correction_2) / correction_1
    return row - m * alpha / (np.sqrt(v) + f32(1e-7))


def lamb(row, state, g):
    m, v, correction_1, correction_2 = moments(state, g)
    u = m / correction_1 / (np.sqrt(v / correction_2) + f32(1e-7))
    return row - f32(RATE) * np.linalg.norm(row) / np.linalg.norm(u) * u


def rmsprop(row, state, g, centered=False, momentum=0.0, epsilon=1e-7):
    zero = np.zeros_like(g)
    v = state["v"] = f32(0.9) * state.get("v", zero) + f32(0.1) * g**2
    if centered:
        mean = state["mean"] = f32(0.9) * state.get("mean", zero) + f32(0.1) * g
        v = np.maximum(v - mean**2, 0)
    step = f32(RATE) * g / np.sqrt(v + f32(epsilon))
    state["move"] = f32(momentum) * state.get("move", zero) + step
    return row - state["move"]


def ftrl(
    row,
    state,
    g,
    learning_rate_power=-0.5,
    l1_regularization_strength=0.0,
    l2_regularization_strength=0.0,
    l2_shrinkage_regularization_strength=0.0,
    beta=0.0,
):
    power, rate = f32(-learning_rate_power), f32(RATE)
    n, z = state.get("n", np.full_like(g, 0.1)), state.get("z", np.zeros_like(g))
    sigma = ((n + g**2) ** power - n**power) / rate
    n = state["n"] = n + g**2
    shrinkage = f32(2 * l2_shrinkage_regularization_strength) * row
    z = state["z"] = z + g + shrinkage - sigma * row
    l1 = f32(l1_regularization_strength)
    l2 = f32(2 * l2_regularization_strength)
    return (np.clip(z, -l1, l1) - z) / ((n**power + f32(beta)) / rate + l2)


LAZY = {
    "SGD": sgd,
    "Adagrad": adagrad,
    "RowWiseAdagrad": rowwise_adagrad,
    "Adam": adam,
    "AdamW": adam,
    "RMSprop": rmsprop,
    "Ftrl": ftrl,
    "Lamb": lamb,
}


def train_lazily(start, cls, arguments):
    rows = start.copy()
    states = [{} for _ in range(IDS)]
    for ids, targets in batches(every_id=False):
        gradients = 2 * (rows[ids] - targets) / f32(IDS)
        for i in np.unique(ids):
            gradient = gradients[ids == i].sum(axis=0)
            rows[i] = step_lazily(cls, rows[i], states[i], gradient, **arguments)
    return rows


def step_lazily(
    cls,
    row,
    state,
    gradient,
    clipnorm=None,
    clipvalue=None,
    weight_decay=None,
    weight_bound=None,
    **arguments,
):
    if clipnorm is not None:
        gradient = gradient * f32(clipnorm / max(np.linalg.norm(gradient), clipnorm))
    if clipvalue is not None:
        gradient = np.clip(gradient, -f32(clipvalue), f32(clipvalue))
    if weight_decay is not None:
        row = row - f32(RATE * weight_decay) * row
    row = LAZY[cls](row, state, gradient, **arguments)
    if weight_bound is not None:
        row = np.clip(row, -f32(weight_bound), f32(weight_bound))
    return row
