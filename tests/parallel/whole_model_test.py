"""Whatever the plan, files and methods of a model have its whole weights."""

import numpy as np
import pytest
from group_programs import STATE, preamble

MOVE = """
path = os.path.join(FOLDER, f"whole_{INDEX}.weights.h5")
with strategy.scope():
    model = make_model()
    divide(model, wide="columns", narrow="rows")
    model.fit(data, epochs=2, shuffle=False, verbose=0)
    model.save_weights(path)
    saved = state(model)
    shapes = [tuple(each.shape) for each in model.get_layer("wide").weights]

    # Under another plan.
    other = make_model()
    divide(other, wide="rows")
    other.fit(data.take(1), verbose=0)
    with ptf.parallel.whole(other):
        other.load_weights(path)
    loaded = state(other)

    # Under no plan, and trained on.
    alone = make_model()
    alone.load_weights(path)
    undivided = listed(alone.get_weights())

    # A checkpoint of TensorFlow.
    prefix = os.path.join(FOLDER, f"checkpoint_{INDEX}", "c")
    with ptf.parallel.whole(model):
        checkpoint = tf.train.Checkpoint(model=model, optimizer=model.optimizer)
        written = checkpoint.save(prefix)
    model.fit(data.take(2), verbose=0)
    changed = not close(state(model), saved)
    with ptf.parallel.whole(model):
        checkpoint.restore(written)
    restored = state(model)
say(
    shapes=shapes,
    weights=close(loaded[: len(undivided)], saved[: len(undivided)]),
    undivided=close(undivided, saved[: len(undivided)]),
    optimizer=close(loaded, saved) or not IS_KERAS_3,
    changed=changed,
    restored=close(restored, saved),
)
"""


def test_saved_under_one_plan_and_loaded_under_another(run_workers, tmp_path):
    program = preamble() + STATE + MOVE.replace("FOLDER", repr(str(tmp_path)))
    for ended in run_workers(program):
        result = ended.result()
        assert result.pop("shapes") == [[12, 8], [8]]
        assert all(result.values()), result


AGAIN = """
with strategy.scope():
    model = make_model()
    applied = divide(model, wide="columns")
    model.fit(data, verbose=0)
    model.compile(keras.optimizers.Adam(0.01), "binary_crossentropy")
    model.fit(data, shuffle=False, verbose=0)
    loss = model.evaluate(data, verbose=0)
    whole_size = model.count_params()
    applied.remove()
    part_size = model.count_params()
    after = model.evaluate(data, verbose=0)
    divide(model, wide="rows")
    again = model.evaluate(data, verbose=0)
say(losses=[loss, after, again], sizes=[whole_size, part_size])
"""


@pytest.mark.slow
def test_a_model_is_compiled_again_and_divided_again(run_workers):
    for ended in run_workers(preamble() + AGAIN):
        result = ended.result()
        assert np.ptp(result["losses"]) < 1e-6
        assert result["sizes"][0] == result["sizes"][1]


LATER = """
def moved(model):
    before = model.get_layer("wide").kernel.numpy()
    model.fit(data, shuffle=False, verbose=0)
    return float(np.abs(model.get_layer("wide").kernel.numpy() - before).max())


with strategy.scope():
    model = make_model()
    movements = [moved(model)]
    applied = divide(model, wide="columns")
    movements.append(moved(model))
    applied.remove()
    movements.append(moved(model))
say(movements=movements)
"""


def test_a_model_that_has_trained_goes_on_when_it_is_divided_and_joined(run_workers):
    for ended in run_workers(preamble() + LATER):
        assert min(ended.result()["movements"]) > 1e-4


EXPORT = """
with strategy.scope():
    model = make_model()
    divide(model, wide="columns", narrow="rows")
    model.fit(data, verbose=0)
    path = os.path.join(FOLDER, f"export_{INDEX}")
    predicted = model.predict(data, verbose=0)
ptf.serving.export(model, path)
served = tf.saved_model.load(path).signatures["serving_default"]
[outputs] = served(tf.constant(ids)).values()
say(difference=float(np.abs(outputs.numpy()[: len(predicted)] - predicted).max()))
"""


@pytest.mark.slow
def test_an_export_has_the_whole_model(run_workers, tmp_path):
    program = preamble() + EXPORT.replace("FOLDER", repr(str(tmp_path)))
    for ended in run_workers(program):
        assert ended.result()["difference"] < 1e-6
