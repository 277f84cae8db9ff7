"""Checkpoints and callbacks have the whole model, without a block of `whole`."""

import pytest
from group_programs import STATE, preamble

CHECKPOINT = """
prefix = os.path.join(FOLDER, f"{INDEX}", "c")
with strategy.scope():
    model = make_model()
    divide(model, wide="columns", narrow="rows")
    model.fit(data, verbose=0)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=model.optimizer)
    written = checkpoint.save(prefix)
    saved = state(model)
    model.fit(data.take(2), verbose=0)
    changed = not close(state(model), saved)
    checkpoint.restore(written)
    restored = state(model)

    # Read by a model that is not divided, and what that writes by the divided one.
    alone = make_model()
    alone.fit(data.take(1), verbose=0)
    of_alone = tf.train.Checkpoint(model=alone, optimizer=alone.optimizer)
    of_alone.read(written)
    read_alone = state(alone)
    alone.fit(data.take(1), verbose=0)
    trained = state(alone)
    checkpoint.read(of_alone.write(prefix + "-alone"))
    read_again = state(model)
say(
    changed=changed,
    restored=close(restored, saved),
    read_alone=close(read_alone, saved),
    read_again=close(read_again, trained),
)
"""


@pytest.mark.slow
def test_a_checkpoint_of_tensorflow(run_workers, tmp_path):
    program = preamble() + STATE + CHECKPOINT.replace("FOLDER", repr(str(tmp_path)))
    for ended in run_workers(program):
        result = ended.result()
        assert all(result.values()), result


REFUSED = """
def refused(save):
    try:
        save()
    except ValueError as error:
        return str(error)


with strategy.scope():
    model = make_model()
    divide(model, wide="columns")
    path = os.path.join(FOLDER, f"refused_{INDEX}")
    later = tf.train.CheckpointOptions(enable_async=True)
    checkpoint = tf.train.Checkpoint(model=model)
    say(
        saved_model=refused(lambda: tf.saved_model.save(model, path)),
        later=refused(lambda: checkpoint.write(path, options=later)),
    )
"""


def test_what_cannot_have_the_whole_model_is_refused(run_workers, tmp_path):
    program = preamble() + REFUSED.replace("FOLDER", repr(str(tmp_path)))
    for ended in run_workers(program):
        for told in ended.result().values():
            assert "ptf.parallel.whole(model)" in told


CALLBACKS = """
class Stop(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        self.last = state(self.model)

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2:
            raise InterruptedError


class Look(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        epochs.append(epoch)
        if len(epochs) == 1:
            self.first = state(self.model)


epochs, stop, look = [], Stop(), Look()


def train(model, *others):
    # All workers read the backup of the first one.
    backup = ptf.callbacks.BackupAndRestore(os.path.join(FOLDER, "backup"))
    model.fit(data, epochs=3, verbose=0, callbacks=[backup, *others])


with strategy.scope():
    model = make_model()
    divide(model, wide="columns", narrow="rows")
    path = os.path.join(FOLDER, f"{INDEX}.weights.h5")
    saving = keras.callbacks.ModelCheckpoint(path, save_weights_only=True)
    try:
        train(model, saving, stop)
    except InterruptedError:
        pass
    other = make_model()
    divide(other, wide="rows")
    train(other, look)
    alone = make_model()
    # With tf_keras, only the first worker keeps its file.
    alone.load_weights(os.path.join(FOLDER, "0.weights.h5"))
say(
    epochs=epochs,
    resumed=close(look.first, stop.last),
    alone=close(listed(alone.get_weights()), stop.last, strict=False),
)
"""


@pytest.mark.slow
def test_callbacks_of_keras(run_workers, tmp_path):
    program = preamble() + STATE + CALLBACKS.replace("FOLDER", repr(str(tmp_path)))
    for ended in run_workers(program):
        assert ended.result() == {"epochs": [2], "resumed": True, "alone": True}
