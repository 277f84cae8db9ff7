"""Where a cluster gets its shards from, and which settings it refuses."""

import json

import pytest

import persia_tf as ptf
from persia_tf.cluster import shards_of_environment


def tf_config(**cluster):
    return json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 0}})


def test_without_shards_rows_are_embedded():
    assert ptf.Cluster().is_embedded


def test_shards_of_the_variable(monkeypatch):
    monkeypatch.setenv("PERSIA_PS", "a:1, b:2")
    assert ptf.Cluster().shards == ("a:1", "b:2")


def test_tf_config_goes_before_the_variable(monkeypatch):
    monkeypatch.setenv("PERSIA_PS", "a:1")
    monkeypatch.setenv("TF_CONFIG", tf_config(ps=["c:3", "d:4"], worker=["e:5"]))
    assert ptf.Cluster().shards == ("c:3", "d:4")


def test_tf_config_without_ps_leaves_the_variable(monkeypatch):
    monkeypatch.setenv("PERSIA_PS", "a:1")
    monkeypatch.setenv("TF_CONFIG", tf_config(worker=["e:5"]))
    assert ptf.Cluster().shards == ("a:1",)


def test_an_explicit_list_goes_before_the_environment(monkeypatch):
    monkeypatch.setenv("PERSIA_PS", "a:1")
    assert ptf.Cluster(["b:2"]).shards == ("b:2",)
    assert ptf.Cluster.embedded().is_embedded


@pytest.mark.parametrize("text", ["{", "[]", '{"cluster": 3}'])
def test_tf_config_that_does_not_parse_is_shown(text, monkeypatch):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(ValueError, match="TF_CONFIG must be a JSON object"):
        shards_of_environment()


@pytest.mark.parametrize("shards", [[], "a:1", ""])
def test_a_list_that_is_none_is_refused(shards):
    with pytest.raises(ValueError, match="`shards` must be a list"):
        ptf.Cluster(shards)


@pytest.mark.parametrize("address", ["nowhere", "host:", ":7000", "host:99999"])
def test_an_address_that_does_not_parse_is_shown(address):
    with pytest.raises(ValueError, match=address):
        ptf.Cluster([address]).session.flush()


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        ("PERSIA_PS", "nowhere", r"\$PERSIA_PS: an address must be host:port"),
        ("PERSIA_PS", "a:1;b:2", r"\$PERSIA_PS must separate addresses.*'a:1;b:2'"),
        ("PERSIA_PS", "a:1 b:2", r"\$PERSIA_PS must separate addresses"),
        ("PERSIA_PS", "a:1,", r"\$PERSIA_PS: an address must be"),
        ("TF_CONFIG", tf_config(ps=["a"]), "`ps` of TF_CONFIG: an address must be"),
    ],
)
def test_what_is_wrong_in_the_environment_is_named(
    variable, text, message, monkeypatch
):
    monkeypatch.setenv(variable, text)
    with pytest.raises(ValueError, match=message):
        ptf.Cluster()


def test_a_shard_that_is_listed_twice_is_refused():
    with pytest.raises(ValueError, match="`shards` must name each shard once.*'a:1'"):
        ptf.Cluster(["a:1", "b:2", "a:1"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shards": [None]}, "`shards` must name each shard by a str.*None"),
        ({"namespace": 3}, "`namespace` must be a str. Received: namespace=3"),
        ({"timeout": None}, "`timeout` must be a finite number.*timeout=None"),
        ({"timeout": "30"}, "`timeout` must be a finite number.*timeout='30'"),
    ],
)
def test_an_argument_of_another_type_is_refused(arguments, message):
    with pytest.raises(TypeError, match=message):
        ptf.Cluster(**{"shards": ["a:1"], **arguments})


def test_embedded_rows_under_several_workers_are_refused(monkeypatch, table):
    monkeypatch.setenv("TF_CONFIG", tf_config(worker=["a:1", "b:2"]))
    layer = ptf.layers.PersiaEmbedding(4, table=table)
    with pytest.raises(RuntimeError, match="2 workers but no parameter server"):
        layer.build((None,))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"timeout": 0}, "`timeout` must be a finite number above 0.*timeout=0"),
        ({"timeout": 1e7}, "timeout must be above 0 and at most"),
        ({"staleness": -1}, "`staleness` must be an integer from 0"),
    ],
)
def test_an_option_out_of_range_is_refused(option, message):
    with pytest.raises(ValueError, match=message):
        ptf.Cluster(["127.0.0.1:1"], **option).session.flush()


def test_config_round_trip():
    for cluster in (
        ptf.Cluster(["a:1"], namespace="n", timeout=3, staleness=0),
        ptf.Cluster.embedded(namespace="m"),
    ):
        copy = ptf.Cluster.from_config(cluster.get_config())
        assert copy.get_config() == cluster.get_config()
