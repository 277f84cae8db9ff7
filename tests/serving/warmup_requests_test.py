"""Warm-up requests of an export; and folders appear completely or not at all."""

import json
import os
import sys

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras
from persia_tf.serving import exporting

prediction_log_pb2 = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2")

pytestmark = pytest.mark.parametrize("cluster", [0], indirect=True)


def requests_of(path):
    """Returns the signature and the tensors of each request, as a server reads them."""
    file = f"{path}/assets.extra/tf_serving_warmup_requests"
    for record in tf.data.TFRecordDataset(file).as_numpy_iterator():
        log = prediction_log_pb2.PredictionLog.FromString(record)
        request = log.predict_log.request
        tensors = {k: tf.make_ndarray(v) for k, v in request.inputs.items()}
        yield request.model_spec.signature_name, tensors


@pytest.fixture
def tagged(embedding):
    """A model of dense and ragged inputs."""

    class Scores(keras.Model):
        def __init__(self):
            super().__init__()
            self.user = embedding("user")
            self.tags = embedding("tags", combiner="sum")

        def call(self, inputs):
            return self.user(inputs["user"]) + self.tags(inputs["tags"])

    return Scores()


SPECS = {
    "user": tf.TensorSpec((None,), tf.int64),
    "tags": tf.RaggedTensorSpec((None, None), tf.string),
}


def batch_of(*users):
    tags = tf.ragged.constant([["a"] * (user % 3) for user in users], dtype=tf.string)
    return {"user": np.array(users), "tags": tags}


def test_warmup_requests_are_what_a_server_can_run(tagged, path):
    batches = [batch_of(1, 2), batch_of(3)]
    for batch in batches:
        tagged(batch, training=True)
    ptf.serving.export(tagged, path, inputs=SPECS, warmup=iter(batches))
    signatures = tf.saved_model.load(path).signatures
    found = list(requests_of(path))
    assert [name for name, _ in found] == ["serving_default"] * 2
    for batch, (name, tensors) in zip(batches, found):
        assert tensors.keys() == {"user", "tags_values", "tags_row_splits"}
        answer = signatures[name](**{k: tf.constant(v) for k, v in tensors.items()})
        expected = tagged(batch, training=False)
        np.testing.assert_allclose(answer["output"], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "batch",
    [
        {"user": [1]},
        {"user": ["a"], "tags": tf.ragged.constant([["a"]])},
        {"user": np.array([[1]]), "tags": tf.ragged.constant([["a"]])},
        {"user": np.array([1]), "tags": tf.ragged.constant([[1]])},
        3,
    ],
)
def test_batches_that_the_model_does_not_take_are_refused(tagged, path, batch):
    tagged(batch_of(1), training=True)
    with pytest.raises(ValueError, match="`warmup` must contain batches of the model"):
        ptf.serving.export(tagged, path, inputs=SPECS, warmup=[batch])
    assert not os.path.exists(os.path.dirname(path))


def test_more_batches_than_a_server_reads_are_refused(one_table, path):
    model, _ = one_table()
    without_end = iter(lambda: np.array([1]), None)
    with pytest.raises(ValueError, match="`warmup` must have 1000 batches at most"):
        ptf.serving.export(model, path, warmup=without_end)


def test_without_the_library_it_says_what_to_install(one_table, path, monkeypatch):
    model, _ = one_table()
    monkeypatch.setitem(sys.modules, "tensorflow_serving.apis", None)
    with pytest.raises(ImportError, match=r"pip install 'persia_tf\[serving\]'"):
        ptf.serving.export(model, path, warmup=[np.array([1])])


def test_an_export_that_fails_leaves_nothing(one_table, path, monkeypatch):
    model, _ = one_table()

    def fail(_, folder, *rest):
        with open(f"{folder}/saved_model.pb", "wb") as file:
            file.write(b"half")
        raise OSError("no space")

    monkeypatch.setattr(exporting.tf.saved_model, "save", fail)
    with pytest.raises(OSError, match="no space"):
        ptf.serving.export(model, path)
    assert os.listdir(os.path.dirname(path)) == []


def test_an_export_is_seen_when_it_is_whole(one_table, path, monkeypatch):
    model, _ = one_table()
    seen = []
    write = exporting._write_extra

    def look(*arguments):
        write(*arguments)
        seen.extend(os.listdir(os.path.dirname(path)))

    monkeypatch.setattr(exporting, "_write_extra", look)
    ptf.serving.export(model, path)
    [unfinished] = seen
    assert unfinished.startswith("1.unfinished-")  # No version: not a number.
    assert os.listdir(os.path.dirname(path)) == ["1"]
    assert os.stat(path).st_mode & 0o777 == 0o777 & ~current_umask()


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_an_empty_folder_is_filled(one_table, path):
    model, _ = one_table()
    os.makedirs(path)
    ptf.serving.export(model, path)
    assert os.path.exists(f"{path}/saved_model.pb")


@pytest.mark.parametrize(("given", "told"), [(None, 3), (70, 70)])
def test_the_manifest_tells_steps_and_signatures(one_table, path, given, told):
    model, _ = one_table()
    model.compile("sgd", "mse")
    model.fit(np.arange(48), np.zeros((48, 4)), batch_size=16, verbose=0)
    ptf.serving.export(model, path, step=given, tf_example=True)
    with open(f"{path}/assets.extra/persia_export.json") as file:
        manifest = json.load(file)
    assert manifest["step"] == told
    assert manifest["tensorflow"] == tf.__version__
    assert manifest["signatures"] == ["serving_default", "tf_example"]
