"""Programs, workers and shards with the same token, and with different ones."""

import time

import pytest

import persia_tf as ptf
from persia_tf import errors, stats

TOKEN = b"a token of these tests"
OTHER = b"another token of these"

# Far more than any refusal takes: a call that waits so long was not refused.
TIMEOUT = 600.0
AT_ONCE = 60.0


@pytest.fixture
def addresses(start_shards):
    """Two shards with the token."""
    return [shard.address for shard in start_shards(2, auth_token=TOKEN)]


def test_a_layer_trains_through_a_token(table, addresses, token_file, train):
    cluster = ptf.Cluster(addresses, auth_token_file=token_file(TOKEN + b"\n"))
    assert train(table, cluster) == 64
    assert [each.refused_connections for each in cluster.stats()] == [0, 0]


def test_a_layer_trains_through_the_environments_token(
    table, addresses, token_file, monkeypatch, train
):
    monkeypatch.setenv("PERSIA_AUTH_TOKEN_FILE", token_file(TOKEN))
    assert train(table, ptf.Cluster(addresses)) == 64


def test_a_layer_trains_through_a_worker_with_the_token(
    table, addresses, start_worker, token_file, train
):
    worker = start_worker(addresses, auth_token=TOKEN)
    cluster = ptf.Cluster([worker], auth_token_file=token_file(TOKEN))
    # The worker's own tables are only its copies, and it keeps no copies here.
    assert train(table, cluster) == 64


@pytest.mark.parametrize(
    ("token", "kind", "message"),
    [
        (OTHER, errors.PermissionDeniedError, "does not have this client's token"),
        (
            None,
            errors.UnauthenticatedError,
            r"requires a token: .*auth_token_file=\.\.\.",
        ),
    ],
    ids=["another token", "no token"],
)
def test_who_has_not_the_token_is_told_so_at_once(
    table, addresses, token_file, token, kind, message, train
):
    path = "" if token is None else token_file(token)
    cluster = ptf.Cluster(addresses, timeout=TIMEOUT, auth_token_file=path)
    begin = time.monotonic()
    with pytest.raises(kind, match=message) as failure:
        train(table, cluster)
    assert time.monotonic() - begin < AT_ONCE
    assert "shard " in str(failure.value)
    assert TOKEN.decode() not in str(failure.value)
    assert OTHER.decode() not in str(failure.value)
    # The shards that were asked count the refusals.
    counted = stats.fetch(addresses, AT_ONCE, token_file(TOKEN, "right"))
    assert sum(each.refused_connections for each in counted) > 0


def test_a_token_for_shards_that_have_none_is_an_error(
    table, start_shards, token_file, train
):
    [shard] = start_shards(1)
    cluster = ptf.Cluster(
        [shard.address], timeout=TIMEOUT, auth_token_file=token_file(TOKEN)
    )
    begin = time.monotonic()
    with pytest.raises(errors.UnauthenticatedError, match="server has none"):
        train(table, cluster)
    assert time.monotonic() - begin < AT_ONCE


def test_a_worker_without_its_shards_token_says_which_shard_refused_it(
    table, addresses, start_worker, train
):
    worker = start_worker(addresses, timeout=TIMEOUT)
    cluster = ptf.Cluster([worker], timeout=TIMEOUT)
    begin = time.monotonic()
    with pytest.raises(errors.UnauthenticatedError, match=f"{worker}.*shard . of 2"):
        train(table, cluster)
    assert time.monotonic() - begin < AT_ONCE


def test_training_goes_on_after_a_cut(start_shards, token_file, assert_cuts_are_mended):
    [shard] = start_shards(1, auth_token=TOKEN)
    assert_cuts_are_mended(shard, auth_token_file=token_file(TOKEN))


def test_a_token_file_that_is_not_as_it_must_be_is_an_error(table, token_file, train):
    cluster = ptf.Cluster(
        ["127.0.0.1:1"], auth_token_file=token_file(TOKEN, mode=0o644)
    )
    with pytest.raises(ValueError, match="chmod 600"):
        train(table, cluster)


@pytest.mark.parametrize("name", ["another file", "token"])
def test_a_wrong_token_can_be_mended_in_the_same_program(
    name, table, addresses, token_file, train
):
    wrong = ptf.Cluster(addresses, auth_token_file=token_file(OTHER, "token"))
    with pytest.raises(errors.PermissionDeniedError):
        train(table, wrong)
    right = ptf.Cluster(addresses, auth_token_file=token_file(TOKEN, name))
    assert train(table, right) == 64


def test_clusters_of_one_session_must_agree_on_the_file(
    table, addresses, token_file, train
):
    first = ptf.Cluster(addresses, auth_token_file=token_file(TOKEN))
    train(table, first)
    second = ptf.Cluster(addresses, auth_token_file=token_file(TOKEN, "copy"))
    with pytest.raises(ValueError, match="`auth_token_file` must have one value"):
        train(table, second)


def test_the_file_is_part_of_the_config():
    cluster = ptf.Cluster(["a:1"], auth_token_file="/some/file")
    copy = ptf.Cluster.from_config(cluster.get_config())
    assert copy.auth_token_file == "/some/file"
    # If the path is not given, it is taken from the environment of the loading program.
    assert ptf.Cluster(["a:1"]).get_config()["auth_token_file"] is None
