"""What a ranking model loses if its rows are held in fewer bits."""

import numpy as np
import pytest
import tensorflow as tf
from common import locate
from common.embeddings import PersiaRows, Settings
from common.metrics import roc_auc
from movielens import data, model, sample

import persia_tf as ptf
from persia_tf._keras import keras

_ADAGRAD = {"learning_rate": 0.06, "initial_accumulator_value": 1e-5}


def ratings():
    """MovieLens 1M from $PERSIA_TF_DATA if it is there, otherwise a similar sample."""
    source = data.SOURCE._replace(url=None)  # Nothing is downloaded.
    folder = locate.directory(source)
    return sample.generate(seed=0, rows=60_000) if folder is None else data.read(folder)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A DeepFM, ratings that it was not trained on, and its scores of these."""
    keras.utils.set_random_seed(0)
    train, test = ratings().split(0.2, seed=0)
    name = tmp_path_factory.mktemp("movielens").name
    settings = Settings(name, _ADAGRAD, scale=0.01, seed=0)
    ranker = model.build(PersiaRows(settings, ptf.Cluster.embedded()))
    ranker.compile(keras.optimizers.Adagrad(**_ADAGRAD), loss="binary_crossentropy")
    ranker.fit(train.batches(2048, shuffle_seed=0), shuffle=False, verbose=0)
    ptf.flush()
    scores = ranker.predict(test.batches(8192), verbose=0)[:, 0]
    return ranker, test, scores


@pytest.mark.slow
@pytest.mark.parametrize("row_dtype", ["float32", "float16", "int8"])
def test_it_ranks_as_the_model_does(trained, tmp_path, row_dtype):
    ranker, test, scores = trained
    export = ptf.serving.export(ranker, tmp_path / "1", row_dtype=row_dtype)
    serve = tf.saved_model.load(export.path).signatures["serving_default"]
    batches = (serve(**batch) for batch, _ in test.batches(8192))
    found = np.concatenate([next(iter(out.values()))[:, 0] for out in batches])
    if row_dtype == "float32":
        np.testing.assert_allclose(found, scores, rtol=0, atol=1e-6)
    auc = roc_auc(test.labels, scores)
    assert auc > 0.6
    assert abs(roc_auc(test.labels, found) - auc) < 0.001
