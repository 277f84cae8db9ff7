"""Programs, workers and shards with TLS that fits together, and that does not."""

import time

import pytest

import persia_tf as ptf
from persia_tf import errors, stats
from persia_tf.credentials import tls

TOKEN = b"a token of these tests"

# Far more than any refusal takes: a call that waits so long was not refused.
TIMEOUT = 600.0
AT_ONCE = 60.0


@pytest.fixture
def server_tls(certificates):
    """The options of a server in this process."""
    return tls.read(certificates.tls("ps-0")).native()


@pytest.fixture
def trainer_tls(certificates):
    return certificates.tls("trainer")


@pytest.fixture
def addresses(start_shards, server_tls):
    return [shard.address for shard in start_shards(2, tls=server_tls)]


def test_a_layer_trains_through_tls(table, addresses, trainer_tls, train):
    cluster = ptf.Cluster(addresses, tls=trainer_tls)
    assert train(table, cluster) == 64
    assert [each.refused_connections for each in cluster.stats()] == [0, 0]


def test_a_layer_trains_through_the_environments_tls(
    table, addresses, trainer_tls, monkeypatch, train
):
    for variable, path in trainer_tls.environment().items():
        monkeypatch.setenv(variable, path)
    assert train(table, ptf.Cluster(addresses)) == 64


def test_a_layer_trains_through_tls_and_a_token(
    table, start_shards, server_tls, trainer_tls, token_file, train
):
    shards = start_shards(2, tls=server_tls, auth_token=TOKEN)
    cluster = ptf.Cluster(
        [shard.address for shard in shards],
        tls=trainer_tls,
        auth_token_file=token_file(TOKEN),
    )
    assert train(table, cluster) == 64


def test_a_layer_trains_through_a_worker_with_tls(
    table, addresses, start_worker, server_tls, trainer_tls, train
):
    worker = start_worker(addresses, tls=server_tls)
    assert train(table, ptf.Cluster([worker], tls=trainer_tls)) == 64


def test_training_goes_on_after_a_cut(
    start_shards, server_tls, trainer_tls, assert_cuts_are_mended
):
    [shard] = start_shards(1, tls=server_tls)
    assert_cuts_are_mended(shard, tls=trainer_tls)


@pytest.fixture
def refusal(table, train):
    """The error that a program gets at once if it is refused."""

    def refused(addresses, kind, **options):
        begin = time.monotonic()
        with pytest.raises(kind) as failure:
            train(table, ptf.Cluster(addresses, timeout=TIMEOUT, **options))
        assert time.monotonic() - begin < AT_ONCE
        assert "shard " in str(failure.value)
        return str(failure.value)

    return refused


def count_refused(addresses, given):
    counted = stats.fetch(addresses, AT_ONCE, tls=given)
    return sum(each.refused_connections for each in counted)


def test_a_program_without_tls_is_told_so_at_once(
    addresses, trainer_tls, monkeypatch, refusal
):
    for variable, path in trainer_tls.environment().items():
        monkeypatch.setenv(variable, path)
    told = refusal(addresses, errors.UnauthenticatedError, tls=False)
    assert "wants TLS" in told
    assert "ptf.TLS(" in told
    assert count_refused(addresses, trainer_tls) > 0


def test_tls_for_shards_that_have_none_is_an_error(start_shards, trainer_tls, refusal):
    [shard] = start_shards(1)
    told = refusal([shard.address], errors.UnauthenticatedError, tls=trainer_tls)
    assert "has no TLS" in told
    assert count_refused([shard.address], None) > 0


def test_a_program_of_another_authority_is_refused(
    addresses, certificates, other_certificates, trainer_tls, refusal
):
    stranger = other_certificates.tls("trainer", ca=certificates)
    told = refusal(addresses, errors.PermissionDeniedError, tls=stranger)
    assert "refused this end's certificate" in told
    assert "--tls-ca" in told
    assert count_refused(addresses, trainer_tls) > 0


def test_shards_of_another_authority_are_refused(
    addresses, certificates, other_certificates, trainer_tls, refusal
):
    wary = certificates.tls("trainer", ca=other_certificates)
    told = refusal(addresses, errors.PermissionDeniedError, tls=wary)
    assert "this end does not accept the server's certificate" in told
    assert count_refused(addresses, trainer_tls) > 0


def test_a_shard_is_known_by_its_name_alone(
    start_shards, certificates, trainer_tls, refusal
):
    # The trainer's certificate is signed by the right authority, but has no address.
    own = tls.read(certificates.tls("trainer")).native()
    [shard] = start_shards(1, tls=own)
    told = refusal([shard.address], errors.PermissionDeniedError, tls=trainer_tls)
    assert "is not for 127.0.0.1: issue one whose subjectAltName" in told


def test_another_tls_for_the_same_shards_is_an_error(
    table, addresses, trainer_tls, certificates, train
):
    first = ptf.Cluster(addresses, tls=trainer_tls)
    train(table, first)
    second = ptf.Cluster(addresses, tls=certificates.tls("ps-0"))
    with pytest.raises(ValueError, match="`tls` must have one value"):
        train(f"{table}_2", second)


def test_a_cluster_survives_its_config(trainer_tls):
    cluster = ptf.Cluster(["a:1"], tls=trainer_tls)
    copy = ptf.Cluster.from_config(cluster.get_config())
    assert copy.tls == trainer_tls
    for given in (None, False):
        config = ptf.Cluster(["a:1"], tls=given).get_config()
        assert ptf.Cluster.from_config(config).tls is given


def test_what_is_no_tls_is_refused():
    with pytest.raises(TypeError, match="must be a ptf.TLS.*Received: tls=True"):
        ptf.Cluster(["a:1"], tls=True)


# Three copies of a TLS library in one process: TensorFlow's, Python's and ours.
BESIDE_OTHERS = """
import ssl
import tensorflow as tf
import persia_tf as ptf

context = ssl.create_default_context(cafile={ca!r})
context.load_cert_chain({certificate!r}, {key!r})

def python_speaks():
    import socket
    host, _, port = {address!r}.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=30) as raw:
        with context.wrap_socket(raw, server_hostname=host) as secure:
            return secure.version()

tls = ptf.TLS({certificate!r}, {key!r}, {ca!r})
assert python_speaks() == "TLSv1.3"
cluster = ptf.Cluster([{address!r}], tls=tls)
layer = ptf.layers.PersiaEmbedding(4, table={table!r}, cluster=cluster)
before = layer(tf.range(8, dtype=tf.int64), training=True)
assert python_speaks() == "TLSv1.3"
assert tf.reduce_all(layer(tf.range(8, dtype=tf.int64)) == before)
print("done")
"""


def test_tensorflow_and_python_have_tls_of_their_own_beside_it(
    table, start_shards, server_tls, trainer_tls, run_python
):
    [shard] = start_shards(1, tls=server_tls)
    program = BESIDE_OTHERS.format(
        address=shard.address, table=table, **trainer_tls.get_config()
    )
    assert "done" in run_python(program)
