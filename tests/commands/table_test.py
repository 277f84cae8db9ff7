"""`persia table`, with live shards."""

import json

import pytest

import persia_tf as ptf
from persia_tf.client.session import TableSettings

SETTINGS = TableSettings(dim=3, initializer="ones", optimizer="sgd", seed=0)


@pytest.fixture
def cluster(start_shards):
    """Two shards with the tables "item", and "job/user" of 20 rows."""
    shards = [shard.address for shard in start_shards(2)]
    cluster = ptf.Cluster(shards, timeout=20)
    for name in ("item", "job/user"):
        cluster.create_table(name, SETTINGS)
    ptf.Table("job/user", cluster).assign(range(20), [[1.0] * 3] * 20)
    return cluster


@pytest.fixture
def run(persia, cluster):
    """Runs `persia table`; gives its exit code and what it printed."""

    def do(*args, env=()):
        command = persia("table", *args, env=env)
        return command.wait(), command.stdout, command.stderr

    return do


def named(cluster):
    return {each.name for process in cluster.stats() for each in process.tables}


def test_ls_shows_tables_over_all_shards(run, cluster):
    code, out, _ = run("ls", ",".join(cluster.shards))
    assert code == 0
    header, *lines = (line.split() for line in out.splitlines())
    assert header == ["TABLE", "SHARDS", "DIM", "ROWS", "BYTES"]
    assert [line[:4] for line in lines] == [
        ["item", "2", "3", "0"],
        ["job/user", "2", "3", "20"],
    ]


def test_ls_shows_them_once_behind_workers(run, cluster, start_worker):
    workers = [start_worker(cluster.shards, cache_rows=10) for _ in range(2)]
    code, out, _ = run("ls", ",".join(workers), "--json")
    assert code == 0
    rows = {each["table"]: each["rows"] for each in json.loads(out)["tables"]}
    assert rows == {"item": 0, "job/user": 20}


def test_shards_are_those_of_the_environment(run, cluster):
    env = {"PERSIA_PS": ",".join(cluster.shards)}
    code, out, _ = run("show", "job/user", "--json", env=env)
    assert code == 0
    shown = json.loads(out)
    assert [part["shard"] for part in shown["shards"]] == list(cluster.shards)
    assert sum(part["rows"] for part in shown["shards"]) == 20


def test_show_has_a_line_a_shard(run, cluster):
    code, out, _ = run("show", ",".join(cluster.shards), "job/user")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert [line[1] for line in lines] == ["SHARD", *cluster.shards]


def test_no_shards_is_an_error_that_says_where_from(run):
    code, _, err = run("ls")
    assert code == 1
    assert "no shards are given: give HOST:PORT,..., or set $PERSIA_PS" in err


@pytest.mark.parametrize("action", ["show", "drop"])
def test_a_word_alone_is_the_tables_name(run, action):
    code, _, err = run(action, "127.0.0.1:1")
    assert code == 1
    assert "given, since '127.0.0.1:1' was read as the table's name: give HOST" in err


@pytest.mark.parametrize("action", ["show", "drop"])
def test_a_table_that_there_is_not_is_an_error_that_names_those_that_are(
    run, cluster, action
):
    code, _, err = run(action, ",".join(cluster.shards), "user")
    assert code == 1
    assert "no table 'user'" in err
    assert "'item', 'job/user'" in err


def test_tables_are_shown_where_a_shard_is_down(run, cluster, unused_address):
    shards = ",".join([*cluster.shards, unused_address])
    code, out, told = run("ls", "--timeout=1", shards)
    assert code == 1
    assert f"persia table ls: {unused_address} is down" in told
    assert [line.split()[0] for line in out.splitlines()[1:]] == ["item", "job/user"]
    code, out, told = run("drop", "--yes", "--timeout=1", shards, "item")
    assert code == 1
    assert f"persia table drop: {unused_address} is down" in told
    assert named(cluster) == {"item", "job/user"}


def test_drop_drops_a_table_on_every_shard(run, cluster):
    code, out, _ = run("drop", ",".join(cluster.shards), "job/user", "--yes")
    assert code == 0
    assert "'job/user' with its 20 rows" in out
    assert named(cluster) == {"item"}


def test_drop_asks_and_needs_yes_where_nobody_can_answer(run, cluster):
    code, _, err = run("drop", ",".join(cluster.shards), "job/user")
    assert code == 1
    assert "--yes" in err
    assert "20 rows" in err
    assert len(ptf.Table("job/user", cluster)) == 20


@pytest.mark.parametrize(("typed", "is_dropped"), [("job/user", True), ("yes", False)])
def test_drop_asks_for_the_name_on_a_terminal(
    cluster, typed, is_dropped, monkeypatch, capsys
):
    from persia_tf.commands import main

    class Terminal:
        def isatty(self):
            return True

        def readline(self):
            return f"{typed}\n"

    monkeypatch.setattr("sys.stdin", Terminal())
    args = main._parse(
        ["persia", "table", "drop", ",".join(cluster.shards), "job/user"]
    )
    assert args.run(args) == (0 if is_dropped else 1)
    assert "Type its name" in capsys.readouterr().out
    assert ("job/user" in named(cluster)) is not is_dropped
