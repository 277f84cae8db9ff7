"""Several steps in one call of TensorFlow."""

import numpy as np
import programs
import pytest

from persia_tf._keras import IS_KERAS_3

# Staleness 0, so that any wrong order shows.
TRAIN = """
with strategy.scope():
    model = make_model(staleness=0, steps_per_execution=STEPS)
    # The last execution has fewer steps.
    fit = model.fit(ids, labels, batch_size=16, epochs=2, shuffle=False, verbose=0)
    evaluated = model.evaluate(batches(ids, labels), verbose=0)
    scores = model.predict(batches(ids), verbose=0)
metrics = ptf.metrics()
assert metrics["updates"] == 12, metrics
assert metrics["gradients_discarded"] == 0, metrics
say(
    loss=fit.history["loss"],
    evaluated=evaluated,
    scores=scores.tolist(),
    kernel=model.get_weights()[1].tolist(),
)
"""


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["no strategy", "mirrored", "2 workers"])
def test_training_is_that_of_single_steps(strategy, results_of):
    if IS_KERAS_3 and strategy != "no strategy":
        pytest.skip("Keras 3 itself cannot: see below")
    several, *others = results_of(
        strategy, programs.MODEL + TRAIN.replace("STEPS", "4")
    )
    assert others == [several] * len(others)
    single, *_ = results_of(strategy, programs.MODEL + TRAIN.replace("STEPS", "1"))
    for name, values in single.items():
        np.testing.assert_allclose(several[name], values, atol=1e-6, err_msg=name)


# This program has no layer of this library.
PLAIN = """
with strategy.scope():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", steps_per_execution=2)
try:
    model.fit(np.ones((32, 3)), np.ones((32, 1)), batch_size=8, verbose=0)
    say(failed="")
except tf.errors.InvalidArgumentError as error:
    say(failed=str(error))
"""


@pytest.mark.slow
@pytest.mark.skipif(not IS_KERAS_3, reason="tf_keras can")
@pytest.mark.parametrize("strategy", ["mirrored", "2 workers"])
def test_keras_3_still_cannot_with_replicas(strategy, results_of):
    for said in results_of(strategy, PLAIN):
        failure = said["failed"]
        assert failure, "Keras 3 can now: docs/replicas.md says it cannot"
        assert "must feed a value for placeholder" in failure
