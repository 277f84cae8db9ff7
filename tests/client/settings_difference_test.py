"""The error that says in which settings two tables differ."""

import dataclasses

import pytest

import persia_tf as ptf
from persia_tf.client.session import TableSettings
from persia_tf.client.settings_difference import difference

FIRST = TableSettings(
    dim=4,
    initializer="uniform(maxval=0.05,minval=-0.05)",
    optimizer="adam(beta_1=0.9,beta_2=0.999)",
    seed=0,
)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"dim": 8}, "output_dim: first 4, now 8"),
        (
            {"optimizer": "sgd(momentum=0.0)", "row_dtype": "int8"},
            "optimizer: first adam(beta_1=0.9,beta_2=0.999), now sgd(momentum=0.0); "
            "row_dtype: first float32, now int8",
        ),
        (
            {"optimizer": "adam(beta_1=0.5,beta_2=0.999)"},
            "optimizer: first adam(beta_1=0.9), now adam(beta_1=0.5)",
        ),
        (
            {"optimizer": "adam(beta_1=0.9,beta_2=0.999,clipnorm=1.0)"},
            "optimizer: first adam, now adam(clipnorm=1.0)",
        ),
        (
            {"optimizer": "adam(beta_1=0.9,beta_2=0.999,dense=1.0)"},
            "optimizer: first adam, now adam(lazy=False)",
        ),
        ({"initializer": "zeros()"}, "embeddings_initializer: first uniform"),
    ],
)
def test_what_differs_is_shown_alone(changes, expected):
    text = difference(FIRST, dataclasses.replace(FIRST, **changes))
    assert text.startswith(expected)
    assert text.count("first") == len(changes)


def test_two_layers_of_a_program_are_told_so(table):
    ptf.layers.PersiaEmbedding(4, table=table, optimizer="sgd").build((None,))
    other = ptf.layers.PersiaEmbedding(4, table=table, optimizer="adam")
    with pytest.raises(ptf.errors.AlreadyExistsError) as raised:
        other.build((None,))
    assert "settings: optimizer: first sgd(" in str(raised.value)
    assert "initializer" not in str(raised.value)


def test_an_optimizer_of_the_shards_is_told_by_its_arguments(start_shards):
    shards = [shard.address for shard in start_shards(1)]
    dense = dataclasses.replace(FIRST, optimizer="adam(dense=1.0)")
    ptf.Cluster(shards, timeout=20).create_table("t", dense)
    other = ptf.Cluster(shards, timeout=21)
    with pytest.raises(ptf.errors.AlreadyExistsError) as raised:
        other.create_table("t", dataclasses.replace(FIRST, optimizer="adam"))
    assert "optimizer: adam(lazy=False) here, adam asked" in str(raised.value)
