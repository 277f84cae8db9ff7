"""Admission: what it takes, what it refuses, what becomes of the rows."""

import numpy as np
import pytest

import persia_tf as ptf
from persia_tf import admission
from persia_tf._keras import keras


def layer_of(table, cluster=None, **arguments):
    return ptf.layers.PersiaEmbedding(
        *(4,), table=table, cluster=cluster, embeddings_initializer="ones", **arguments
    )


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (None, "always"),
        (admission.MinCount(3), "min_count(count=3.0)"),
        (
            admission.BloomMinCount(2, 1000),
            "bloom_min_count(count=2.0,expected_ids=1000.0,false_positive_rate=0.01)",
        ),
        (admission.Probability(0.25), "probability(p=0.25)"),
    ],
)
def test_text_for_the_core(given, text):
    assert admission.spec(given) == text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: admission.MinCount(0), "`count`.*1 to 4294967295.*count=0"),
        (lambda: admission.MinCount(2**32), "`count`.*1 to 4294967295.*count=42949"),
        (lambda: admission.MinCount(10**400), "`count`.*1 to 4294967295.*count=1000"),
        (lambda: admission.BloomMinCount(0, 10), "`count`.*1 to 255.*count=0"),
        (lambda: admission.BloomMinCount(256, 10), "`count`.*1 to 255.*count=256"),
        (lambda: admission.BloomMinCount(2, 0), "`expected_ids`.*expected_ids=0"),
        (
            lambda: admission.BloomMinCount(2, 10**10 + 1),
            "`expected_ids`.*1 to 10000000000.*expected_ids=10000000001",
        ),
        (
            lambda: admission.BloomMinCount(2, 10, 1.0),
            "`false_positive_rate`.*below 1.*false_positive_rate=1.0",
        ),
        (
            lambda: admission.BloomMinCount(2, 10, 0),
            "`false_positive_rate`.*at least 1e-09.*false_positive_rate=0",
        ),
        (
            lambda: admission.BloomMinCount(2, 10, 1e-10),
            "`false_positive_rate`.*at least 1e-09.*false_positive_rate=1e-10",
        ),
        (lambda: admission.Probability(0), "`p`.*above 0.*p=0"),
        (lambda: admission.Probability(1.5), "`p`.*at most 1.*p=1.5"),
        (lambda: admission.Probability(10**400), "`p`.*at most 1.*p=1000"),
        (lambda: admission.Probability(float("nan")), "`p`.*p=nan"),
    ],
)
def test_numbers_out_of_range_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("count", [2.0, "2", True])
def test_counts_must_be_integers(count):
    with pytest.raises(TypeError, match="`count` must be an integer"):
        admission.MinCount(count)


@pytest.mark.parametrize("p", ["0.5", True, None])
def test_chances_must_be_numbers(p):
    with pytest.raises(TypeError, match="`p` must be a number"):
        admission.Probability(p)


def test_numbers_of_numpy_are_taken_as_pythons():
    given = admission.BloomMinCount(np.int64(2), np.int32(9), np.float32(0.5))
    assert given == admission.BloomMinCount(2, 9, 0.5)
    assert [type(each) for each in given.get_config().values()] == [int, int, float]


def test_the_core_takes_the_largest_numbers(table):
    layer_of(table, admission=admission.MinCount(2**32 - 1)).build(())


def test_admissions_are_equal_if_they_are_made_alike():
    alike = {admission.MinCount(2), admission.MinCount(2), admission.MinCount(3)}
    assert len(alike) == 2
    assert admission.MinCount(2) != ptf.eviction.TTL(steps=2)


@pytest.mark.parametrize("given", ["count", 2, 0.5, admission.MinCount])
def test_unknown_admission_is_refused_with_the_known_ones(given):
    with pytest.raises(TypeError, match="MinCount.*BloomMinCount.*admission="):
        ptf.layers.PersiaEmbedding(4, admission=given)


@pytest.mark.parametrize(
    "given",
    [
        admission.MinCount(3),
        admission.BloomMinCount(2, 1000, 0.1),
        admission.Probability(0.25),
    ],
)
def test_config_round_trip(given):
    layer = ptf.layers.PersiaEmbedding(4, admission=given)
    config = layer.get_config()
    copy = ptf.layers.PersiaEmbedding.from_config(config)
    assert type(copy.admission) is type(given)
    assert copy.admission.spec() == given.spec()
    assert copy.get_config() == config
    revived = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(given)
    )
    assert revived.get_config() == given.get_config()


def test_admissions_show_how_they_are_made():
    assert repr(admission.MinCount(3)) == "MinCount(count=3)"


@pytest.mark.parametrize("given", [admission.MinCount(3), admission.Probability(1e-12)])
def test_refused_ids_get_their_initial_value_and_no_row(given, cluster, table):
    layer = layer_of(table, cluster, admission=given)
    ids = np.arange(100)
    for _ in range(2):
        np.testing.assert_array_equal(np.array(layer(ids, training=True)), 1)
    np.testing.assert_array_equal(np.array(layer(ids, training=False)), 0)
    parts = [part for process in cluster.stats() for part in process.tables]
    parts = [part for part in parts if part.name == table]
    assert sum(part.rows for part in parts) == 0
    assert sum(part.refused for part in parts) == 200


@pytest.mark.parametrize(
    "given", [admission.MinCount(3), admission.BloomMinCount(3, 10_000)]
)
def test_the_counted_lookup_makes_the_row(given, cluster, table):
    layer = layer_of(table, cluster, admission=given)
    rows = ptf.Table(table, cluster)
    ids = np.arange(100)
    for expected in (0, 0, 100):
        layer(ids, training=True)
        assert len(rows) == expected
