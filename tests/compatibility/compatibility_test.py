"""The cells of docs/compatibility.md, for the TensorFlow and Keras of this environment.

`make compatibility` runs them under each version, and writes that page.
"""

from __future__ import annotations

import json
import platform
from importlib import metadata

import own_libraries
import programs
import pytest
from harness import ShardProcess
from worker_processes import run_cluster

from persia_tf._keras import IS_KERAS_3

# The strategies by the page's names, and what `programs` calls them.
STRATEGIES = {
    "none": "no strategy",
    "MirroredStrategy": "mirrored",
    "MultiWorkerMirroredStrategy": "2 workers",
}
METHODS = ("fit", "evaluate", "predict", "save/load", "prefetch")

# Rows are updated step by step, without staleness, so expected values are computed.
MODEL = """
import hashlib
import own_libraries
import persia_tf.ops.load

random = np.random.default_rng(0)
ids = random.integers(-(2**62), 2**62, 40)[random.integers(0, 40, (90, 3))]
labels = random.normal(size=(90, 1)).astype("float32")
cells = {}


def cell(name):
    def run(check):
        try:
            with strategy.scope():
                check()
            cells[name] = ""
        except Exception as error:
            cells[name] = f"{type(error).__name__}: {error}"

    return run


def make_model():
    keras.utils.set_random_seed(1)
    inputs = keras.Input((3,), dtype="int64")
    vectors = ptf.layers.PersiaEmbedding(4, table="t", optimizer="adagrad")(inputs)
    outputs = keras.layers.Dense(1)(keras.layers.Flatten()(vectors))
    model = keras.Model(inputs, outputs)
    model.compile("adam", "mse")
    return model


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def finish(**results):
    with open("/proc/self/maps") as maps:
        paths = own_libraries.paths(maps.read())
    binaries = {name: sha256(path) for name, path in paths.items()}
    say(cells=cells, binaries=binaries, **results)
"""

TRAIN = """
with strategy.scope():
    model = make_model()


def expected_scores():
    rows = ptf.Table("t").lookup(ids.reshape(-1)).reshape(90, 12)
    kernel, bias = [w for w in model.get_weights() if w.size]
    return rows @ kernel + bias


@cell("fit")
def fits():
    before = ptf.metrics()["updates"]
    data = batches(ids, labels)
    losses = model.fit(data, validation_data=data, epochs=3, verbose=0).history
    assert losses["loss"][2] < losses["loss"][0], losses
    assert losses["val_loss"][2] < losses["val_loss"][0], losses
    ptf.flush()
    assert ptf.metrics()["updates"] - before == 18


@cell("prefetch")
def prefetches():
    size = 16 // strategy.num_replicas_in_sync

    def own_data(context):
        data = batches(ids[:80], labels[:80], size=size).repeat()
        own = data.shard(context.num_input_pipelines, context.input_pipeline_id)
        return ptf.data.prefetch(own, model, staleness=2)

    before = ptf.metrics()
    data = strategy.distribute_datasets_from_function(own_data)
    model.fit(data, steps_per_epoch=5, epochs=2, verbose=0)
    ptf.flush()
    after = ptf.metrics()
    assert after["updates"] - before["updates"] == 10, after
    assert after["prefetch_hits"] > before["prefetch_hits"], after
    assert after["gradients_discarded"] == 0, after


# Until here workers may be at different steps.
with strategy.scope():
    model.predict(ids, batch_size=16, verbose=0)


@cell("evaluate")
def evaluates():
    loss = model.evaluate(batches(ids, labels), verbose=0)
    expected = np.mean((expected_scores() - labels) ** 2)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


@cell("predict")
def predicts():
    scores = model.predict(batches(ids), verbose=0)
    np.testing.assert_allclose(scores, expected_scores(), atol=1e-5)


@cell("save/load")
def saves():
    # To save takes all workers; the first one's file has the rows.
    model.save("model.keras" if INDEX == 0 else f"worker{INDEX}.keras")


finish(scores=expected_scores().tolist())
"""

# Loads in new processes, on shards without rows.
LOAD = """
import persia_tf.layers  # Registers what the file names.


@cell("save/load")
def loads():
    model = keras.models.load_model(PATH)
    scores = model.predict(batches(ids), verbose=0)
    np.testing.assert_allclose(scores, SCORES, atol=1e-5)


finish()
"""


@pytest.fixture(scope="module")
def said_under(tmp_path_factory):
    """What the processes of each strategy reported; each strategy is run once."""
    said: dict[str, list | Exception] = {}

    def run(strategy: str, program: str) -> list:
        folder = tmp_path_factory.mktemp("cells")
        shards = [ShardProcess(folder / name) for name in ("shard0", "shard1")]
        count = programs.PROCESSES[strategy]
        try:
            for shard in shards:
                shard.start()
            addresses = [shard.address for shard in shards]
            preamble = programs.preamble(strategy) + MODEL
            ended = run_cluster(preamble + program, count, addresses, folder)
        finally:
            for shard in shards:
                shard.end()
        results = [each.result() for each in ended]
        for result in results:
            result["folder"] = folder
        return results

    def train_and_load(strategy: str) -> list:
        trained = run(strategy, TRAIN)
        path = trained[0]["folder"] / "model.keras"
        scores = json.dumps(trained[0]["scores"])
        load = LOAD.replace("PATH", repr(str(path))).replace("SCORES", scores)
        for result, loaded in zip(trained, run(strategy, load)):
            cells = result["cells"]
            cells["save/load"] = cells["save/load"] or loaded["cells"]["save/load"]
        return trained

    def once(name: str) -> list:
        if name not in said:
            try:
                said[name] = train_and_load(STRATEGIES[name])
            except Exception as failure:  # Not tried again for each cell.
                said[name] = failure
        if isinstance(said[name], Exception):
            raise said[name]
        return said[name]

    return once


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_cell(strategy, method, said_under, record_property):
    record_property("keras", "Keras 3" if IS_KERAS_3 else "tf_keras")
    record_property("strategy", strategy)
    record_property("method", method)
    for package in ("tensorflow", "keras", "tf_keras"):
        record_property(f"version of {package}", metadata.version(package))
    record_property("version of Python", platform.python_version())
    said = said_under(strategy)
    for name, digest in sorted(said[0]["binaries"].items()):
        record_property(f"sha256 of {name}", digest)
    assert said[0]["binaries"].keys() == set(own_libraries.NAMES)
    assert [result["cells"][method] for result in said] == [""] * len(said)
