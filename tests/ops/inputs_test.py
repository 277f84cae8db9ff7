"""What the raw ops refuse, whoever calls them."""

import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf.ops import load

NO_VALUE = tf.zeros((0,))


@pytest.fixture
def session():
    return ptf.Cluster.embedded().session.name


def test_a_ticket_without_a_value_is_refused(session):
    with pytest.raises(tf.errors.InvalidArgumentError, match="ticket must hold one"):
        load.ops().persia_stage(
            ticket=tf.zeros((0,), tf.int64),
            gradients=NO_VALUE,
            anchor=NO_VALUE,
            session=session,
            layer="layer",
        )


def test_a_learning_rate_of_several_values_is_refused(session):
    with pytest.raises(tf.errors.InvalidArgumentError, match="received 2"):
        load.ops().persia_commit(
            anchor=NO_VALUE,
            learning_rate=tf.constant([0.1, 0.2]),
            session=session,
            layer="layer",
        )


def test_a_session_that_this_process_lacks_says_what_to_do():
    with pytest.raises(tf.errors.NotFoundError, match="Build the model here"):
        load.ops().persia_lookup(
            ids=tf.constant([1], tf.int64),
            anchor=NO_VALUE,
            session="no such session",
            layer="layer",
            table="table",
            dim=4,
            training=False,
        )
