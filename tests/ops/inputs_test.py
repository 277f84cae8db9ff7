"""Inputs that the raw ops refuse, from any caller."""

import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf.ops import load

NO_VALUE = tf.zeros((0,))


@pytest.fixture
def session():
    return ptf.Cluster.embedded().session.name


def test_a_ticket_without_a_value_is_refused(session):
    with pytest.raises(tf.errors.InvalidArgumentError, match="tickets must hold one"):
        load.ops().persia_stage(
            tickets=tf.zeros((0,), tf.int64),
            gradients=[NO_VALUE],
            anchor=NO_VALUE,
            session=session,
            layers=["layer"],
            dims=[4],
        )


def test_a_learning_rate_of_several_values_is_refused(session):
    with pytest.raises(tf.errors.InvalidArgumentError, match="received 2"):
        load.ops().persia_commit(
            anchor=NO_VALUE,
            learning_rates=tf.constant([0.1, 0.2]),
            steps=tf.constant(1, tf.int64),
            session=session,
            layers=["layer"],
        )


def issue(session, ids=(1,), combiner="none", **options):
    return load.ops().persia_issue(
        ids=[tf.constant(ids, tf.int64)],
        splits=[tf.zeros((0,), tf.int32)],
        anchor=NO_VALUE,
        **{
            "session": session,
            "layers": ["layer"],
            "tables": ["table"],
            "combiners": [combiner],
            "dims": [4],
            "absents": ["zeros"],
            "replica": 0,
            "training": False,
            "model_training": False,
            **options,
        },
    )


def prefetch(session, **options):
    return load.ops().persia_prefetch(
        stream=tf.constant(0, tf.int64),
        ids=[tf.constant([1], tf.int64)],
        splits=[tf.zeros((0,), tf.int32)],
        session=session,
        **{
            "layers": ["layer"],
            "tables": ["table"],
            "combiners": ["none"],
            "dims": [4],
            "trainable": [True],
            "absents": ["zeros"],
            "uses": [0],
            "staleness": 4,
            "replicas": 1,
            **options,
        },
    )


@pytest.mark.parametrize("op", [issue, prefetch])
def test_a_session_that_this_process_lacks_says_what_to_do(op):
    with pytest.raises(tf.errors.NotFoundError, match="Build the model here"):
        op("no such session")


def test_rows_of_a_lookup_that_never_was_are_refused():
    with pytest.raises(tf.errors.FailedPreconditionError, match="lookup 12345 no"):
        load.ops().persia_rows(
            lookup=tf.constant(12345, tf.int64),
            likes=[tf.constant([1], tf.int64)],
            M=1,
            dims=[4],
            pooled=[False],
        )


def test_a_lookup_ends_with_its_handle(session):
    number = int(issue(session))
    with pytest.raises(tf.errors.FailedPreconditionError, match=f"lookup {number}"):
        load.ops().persia_rows(
            lookup=tf.constant(number, tf.int64),
            likes=[tf.constant([1], tf.int64)],
            M=1,
            dims=[4],
            pooled=[False],
        )


def test_a_stream_lives_as_long_as_its_tensor(session):
    before = ptf.metrics()["batches_registered"]
    stream = prefetch(session)
    assert ptf.metrics()["batches_registered"] == before + 1
    del stream
    assert ptf.metrics()["batches_registered"] == before


def test_lists_of_other_lengths_are_refused(session):
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match="as long as layers, which has 1 entries, received one with 2",
    ):
        prefetch(session, dims=[4, 4])


def test_a_scalar_has_no_axis_to_pool(session):
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have an axis"):
        issue(session, ids=7, combiner="sum")
