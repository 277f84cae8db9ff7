"""Keras's callbacks do the same on all workers."""

import numpy as np
import programs
import pytest

# The callbacks watch for a loss that rises, but the loss falls.
CALLBACKS = """
seen = []
with strategy.scope():
    model = make_model(staleness=0)
    fit = model.fit(
        batches(ids, labels),
        validation_data=batches(ids[:33], labels[:33]),
        epochs=10,
        verbose=0,
        callbacks=[
            keras.callbacks.EarlyStopping("val_loss", mode="max", patience=3),
            keras.callbacks.ReduceLROnPlateau(
                "loss", mode="max", patience=1, factor=0.5, min_delta=0
            ),
            keras.callbacks.LearningRateScheduler(
                lambda epoch, rate: 0.08 if epoch == 0 else rate
            ),
            keras.callbacks.TerminateOnNaN(),
            keras.callbacks.CSVLogger(f"log{INDEX}.csv"),
            keras.callbacks.LambdaCallback(
                on_epoch_end=lambda epoch, logs: seen.append([epoch, logs["loss"]]),
                on_train_batch_end=lambda batch, logs: seen.append([batch]),
            ),
            ptf.callbacks.LookupMetrics(),
        ],
    )
logged = open(f"log{INDEX}.csv").read().splitlines()
# What a worker measures of itself is its own.
own = {name for name in fit.history if "persia" in name}
assert own, fit.history.keys()
say(
    epochs=fit.epoch,
    seen=seen,
    history={k: v for k, v in fit.history.items() if k not in own},
    rate=float(model.optimizer.learning_rate.numpy()),
    logged_epochs=len(logged) - 1,
)
"""


@pytest.mark.slow
def test_callbacks_decide_alike(results_of):
    first, *others = results_of("2 workers", programs.MODEL + CALLBACKS)
    assert others == [first] * len(others)
    assert first["epochs"] == list(range(first["logged_epochs"])) == [0, 1, 2, 3]
    losses = first["history"]["loss"]
    assert losses == sorted(losses, reverse=True)
    for epoch in range(4):
        batches = first["seen"][7 * epoch : 7 * epoch + 6]
        assert batches == [[batch] for batch in range(6)]
        assert first["seen"][7 * epoch + 6] == [epoch, losses[epoch]]
    # Halved after each epoch except the first one.
    assert first["rate"] == np.float32(0.08) / 8


# The callback wants a loss that rises, but it falls: so the first epoch is the best.
EARLY_STOPPING = """
sizes = []


class Look(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        sizes.append(size_of_rows())


def size_of_rows():
    rows = [np.abs(batch.rows).sum() for batch in model.layers[1].rows.export()]
    return float(sum(rows))


with strategy.scope():
    model = make_model(staleness=0)
    stopping = ptf.callbacks.EarlyStopping(
        "val_loss", mode="max", patience=2, restore_best_weights=True
    )
    valid = batches(ids[:33], labels[:33])
    fit = model.fit(
        batches(ids, labels),
        validation_data=valid,
        epochs=10,
        verbose=0,
        callbacks=[stopping, Look()],
    )
    after = model.evaluate(valid, verbose=0, return_dict=True)
losses = fit.history["val_loss"]
say(losses=losses, after=after["loss"], sizes=sizes, size=size_of_rows())
"""


@pytest.mark.slow
def test_all_workers_go_back_to_the_best_epoch(results_of):
    first, *others = results_of("2 workers", programs.MODEL + EARLY_STOPPING)
    for other in others:
        assert other["losses"] == first["losses"]
    for result in (first, *others):
        assert len(result["losses"]) == 3
        np.testing.assert_allclose(result["after"], result["losses"][0], rtol=1e-5)
        np.testing.assert_allclose(result["size"], result["sizes"][0], rtol=1e-5)
        assert abs(result["sizes"][-1] - result["size"]) > 1e-3
