"""Fixtures: models whose tables are exported."""

import pytest

import persia_tf as ptf
from persia_tf._keras import keras


@pytest.fixture(
    params=[
        pytest.param(0, id="embedded", marks=pytest.mark.slow),
        pytest.param(2, id="shards"),
    ]
)
def cluster(request, start_shards):
    """The embedded cluster, and one of two shards."""
    if not request.param:
        return ptf.Cluster.embedded()
    shards = start_shards(request.param)
    return ptf.Cluster([shard.address for shard in shards], timeout=20)


@pytest.fixture
def embedding(table, cluster):
    """Makes layers with rows far from zero, in tables that no other test uses."""

    def make(name, dim=4, **options):
        return ptf.layers.PersiaEmbedding(
            *(dim,),
            table=f"{table}_{name}",
            cluster=cluster,
            embeddings_initializer=keras.initializers.RandomNormal(seed=1),
            **options,
        )

    return make


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "model" / "1")


@pytest.fixture
def one_table(embedding):
    """A model that gives the rows of ids, and its layer."""

    def make(**options):
        ids = keras.Input((), dtype="int64", name="ids")
        layer = embedding("ids", **options)
        return keras.Model(ids, layer(ids)), layer

    return make
