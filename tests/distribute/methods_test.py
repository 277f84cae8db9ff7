"""The methods of a Keras model do the same under every strategy."""

import programs
import pytest

# The last batch of 90 rows is smaller, and that of 33 has no row for a second worker.
METHODS = """
weights = np.linspace(0.5, 1.5, 90).astype("float32")
with strategy.scope():
    model = make_model(weighted_metrics=["accuracy"])
    fits = [
        model.fit(
            batches(ids, labels),
            validation_data=batches(ids[:33], labels[:33]),
            epochs=2,
            verbose=0,
        ),
        model.fit(batches(ids, labels, weights), verbose=0),
        model.fit(ids, labels, sample_weight=weights, batch_size=16, verbose=0),
        model.fit(
            ids[:64],
            labels[:64],
            validation_data=(ids[64:], labels[64:], weights[64:]),
            batch_size=16,
            verbose=0,
        ),
    ]
    evaluated = model.evaluate(
        batches(ids, labels, weights), verbose=0, return_dict=True
    )
    of_arrays = model.evaluate(
        ids, labels, sample_weight=weights, batch_size=16, verbose=0, return_dict=True
    )
    scores = model.predict(batches(ids), verbose=0)
    arrays_scores = model.predict(ids, batch_size=16, verbose=0)
    steps_scores = model.predict(batches(ids).repeat(), steps=3, verbose=0)

assert scores.shape == (90, 1)
np.testing.assert_allclose(arrays_scores, scores, atol=1e-6)
np.testing.assert_allclose(steps_scores, scores[:48], atol=1e-6)

[auc_name] = [name for name in evaluated if name.startswith("auc")]
auc = keras.metrics.AUC()
auc.update_state(labels, scores)
is_right = ((scores > 0.5) == labels)[:, 0]
losses = -np.log(np.where(labels == 1, scores, 1 - scores))[:, 0]
expected = {
    "loss": np.mean(losses * weights),
    "accuracy": np.mean(is_right),
    "weighted_accuracy": np.average(is_right, weights=weights),
    auc_name: float(auc.result()),
}
for name, value in expected.items():
    np.testing.assert_allclose(evaluated[name], value, atol=1e-6, err_msg=name)
    np.testing.assert_allclose(of_arrays[name], value, atol=1e-6, err_msg=name)
# The loss of a batch is that before its step.
with strategy.scope():
    weighted = model.fit(
        batches(ids, labels, size=90), class_weight={0: 1.0, 1: 2.0}, verbose=0
    )
class_weights = np.where(labels == 1, 2.0, 1.0)[:, 0]
np.testing.assert_allclose(
    weighted.history["loss"], [np.mean(losses * class_weights)], atol=1e-6
)
say(
    fits=[fit.history for fit in fits],
    evaluated=evaluated,
    weights=[w.tolist() for w in model.get_weights()],
    updates=ptf.metrics()["updates"],
)
"""


@pytest.mark.parametrize(
    "strategy",
    [
        pytest.param("no strategy", marks=pytest.mark.slow),
        pytest.param("mirrored", marks=pytest.mark.slow),
        "2 workers",
    ],
)
def test_all_replicas_see_the_same(strategy, results_of):
    first, *others = results_of(strategy, programs.MODEL + METHODS)
    assert others == [first] * len(others)
    losses = first["fits"][0]["loss"]
    assert losses[1] < losses[0]
    for fit in (first["fits"][0], first["fits"][3]):
        assert fit.keys() >= {"val_loss", "val_accuracy", "val_weighted_accuracy"}
    # 4 epochs of 90 rows, one epoch of 64 rows, and one batch.
    assert first["updates"] == 4 * 6 + 4 + 1


# Each worker has 4 rows of a batch of 16; of the last batch, three workers have none.
MORE_WORKERS = """
with strategy.scope():
    model = make_model()
    fit = model.fit(
        batches(ids[:33], labels[:33]),
        validation_data=batches(ids[:33], labels[:33]),
        epochs=2,
        verbose=0,
    )
say(fit=fit.history, weights=[w.tolist() for w in model.get_weights()])
"""


@pytest.mark.slow
def test_more_than_two_workers_see_the_same(results_of):
    first, *others = results_of("4 workers", programs.MODEL + MORE_WORKERS)
    assert others == [first] * 3
    before, after = first["fit"]["loss"]
    assert after < before
