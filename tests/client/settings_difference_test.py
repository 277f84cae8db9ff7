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
