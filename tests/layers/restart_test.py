"""A model outlives all of its processes: the program's, and its shards'."""

import json

import pytest

PROGRAM = """
import json
import numpy as np
import persia_tf as ptf
from persia_tf._keras import keras

IDS = np.random.default_rng(0).integers(-1000, 1000, (64, 3))
LABELS = (IDS.sum(axis=1, keepdims=True) > 0).astype("float32")
cluster = ptf.Cluster(SHARDS, timeout=20, staleness=0)


def train(model, epochs):
    options = dict(batch_size=16, shuffle=False, verbose=0)
    return model.fit(IDS, LABELS, epochs=epochs, **options).history["loss"]


def say(losses):
    rows = {}
    for batch in ptf.Table("t", cluster).export():
        both = np.concatenate([batch.rows, batch.state], axis=1)
        rows.update(zip(batch.ids.tolist(), both.tolist()))
    print(json.dumps({"losses": losses, "rows": sorted(rows.items())}))
"""

BEGIN = """
keras.utils.set_random_seed(1)
inputs = keras.Input((3,), dtype="int64")
layer = ptf.layers.PersiaEmbedding(4, table="t", optimizer="adam", cluster=cluster)
vectors = keras.layers.Flatten()(layer(inputs))
model = keras.Model(inputs, keras.layers.Dense(1, "sigmoid")(vectors))
model.compile("adam", "binary_crossentropy")
train(model, 2)
model.save(FILE)
"""

GO_ON = """
with ptf.use_cluster(cluster):
    model = keras.models.load_model(FILE)
"""


@pytest.mark.slow
def test_a_model_goes_on_after_all_was_killed(shard_process, run_python, tmp_path):
    file = str(tmp_path / "m.keras")

    def run(program, shards):
        addresses = [shard.address for shard in shards]
        values = f"SHARDS, FILE = {addresses!r}, {file!r}\n"
        output = run_python(values + PROGRAM + program + "say(train(model, 2))\n")
        return json.loads(output.splitlines()[-1])

    shards = [shard_process() for _ in range(2)]
    expected = run(BEGIN, shards)
    for shard in shards:
        shard.kill()
    shards = [shard_process() for _ in range(3)]
    assert run(GO_ON, shards) == expected
    assert len(expected["rows"]) > 100
