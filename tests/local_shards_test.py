"""`ptf.local_cluster`: shards that a program starts, and that end with the program."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from harness import wait_until

import persia_tf as ptf
from persia_tf import local_shards
from persia_tf.client import session
from persia_tf.current_cluster import cluster_in_use

# A program that prints which shards it has, and then waits for instructions.
PROGRAM = """
import os, sys, threading
import numpy as np
import persia_tf as ptf
local = ptf.local_cluster(shards=2, log_level="info")
started = threading.Thread(target=local.start)
started.start()
started.join()
print("ready", flush=True)
if sys.stdin.readline() == "raise\\n":
    raise RuntimeError("the program's own")
"""


def is_alive(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def children():
    """Returns the command lines of this process's children, by process id."""
    found = {}
    for listed in Path("/proc/self/task").glob("*/children"):
        pids = []
        with contextlib.suppress(OSError):  # A thread of another test may end here.
            pids = listed.read_text().split()
        for pid in pids:
            with contextlib.suppress(OSError):
                found[int(pid)] = Path(f"/proc/{pid}/cmdline").read_text()
    return {pid: line for pid, line in found.items() if "\0ps\0" in line}


@pytest.fixture
def local_cluster(request):
    """Makes local clusters, which end with the test."""

    def make(*args, **options):
        local = ptf.local_cluster(*args, **options)
        request.addfinalizer(local.stop)
        return local

    return make


@pytest.fixture
def program():
    """A running program with two shards, and their process ids."""
    started = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    pids = []
    try:
        assert started.stdout.readline() == "ready\n"
        for listed in Path(f"/proc/{started.pid}/task").glob("*/children"):
            pids += map(int, listed.read_text().split())
        yield started, pids
    finally:
        started.kill()
        started.communicate()
        wait_until(lambda: not any(map(is_alive, pids)), "the shards' end")


def made(cluster, table):
    layer = ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster)
    layer.build()
    return ptf.Table(table, cluster=cluster)


def test_in_a_with_statement_the_shards_serve_and_then_end(table):
    with ptf.local_cluster(shards=2) as cluster:
        assert isinstance(cluster, ptf.Cluster)
        assert len(cluster.shards) == 2
        rows = made(cluster, table)
        rows.assign([3, 4, 5], np.ones((3, 4), np.float32))
        assert rows.lookup([3])[0].tolist() == [1.0] * 4
        stats = cluster.stats()
        assert [each.address for each in stats] == list(cluster.shards)
        assert sum(each.tables[0].rows for each in stats) == 3
        pids = children()
        assert len(pids) == 2
    assert not any(map(is_alive, pids))


def test_a_layer_of_a_cluster_that_ended_says_so(local_cluster, table):
    with local_cluster():
        layer = ptf.layers.PersiaEmbedding(4, table=table)
        layer(np.array([1, 2]))
    with pytest.raises(Exception, match="was closed by this program, as when a ptf"):
        layer(np.array([1, 2]))


def test_layers_in_it_are_on_it(local_cluster):
    local = local_cluster()
    with local as cluster:
        assert cluster_in_use() is cluster
    assert cluster_in_use() is None
    local.start()
    assert cluster_in_use() is None


def test_start_and_stop_can_be_called_again(local_cluster):
    local = local_cluster()
    first = local.start()
    assert local.start() is first
    local.stop()
    local.stop()
    assert children() == {}
    second = local.start()
    assert len(second.stats()) == 1


def test_the_sessions_with_the_shards_end_with_them(local_cluster, table):
    local = local_cluster()
    cluster = local.start()
    made(cluster, table)
    made(ptf.Cluster(cluster.shards, timeout=7), f"{table}2")

    def sessions_with_the_shards():
        shards = set(cluster.shards)
        return [
            each
            for each in session.open_sessions()
            if not shards.isdisjoint(each.shards.split(","))
        ]

    assert len(sessions_with_the_shards()) >= 2
    others = len(session.open_sessions()) - len(sessions_with_the_shards())
    local.stop()
    assert sessions_with_the_shards() == []
    assert len(session.open_sessions()) == others


def test_sessions_with_former_servers_of_its_addresses_end(
    local_cluster, start_shards, table, monkeypatch
):
    addresses = [shard.address for shard in start_shards(1)]
    former = made(ptf.Cluster(addresses, staleness=0), table)
    assert len(former) == 0
    monkeypatch.setattr(local_shards._Running, "addresses", lambda self: addresses)
    cluster = local_cluster().start()
    assert addresses not in [each.shards.split(",") for each in session.open_sessions()]
    # Its staleness is another one.
    made(cluster, f"{table}2")


def test_an_error_within_it_is_not_hidden(monkeypatch):
    def fail(name):
        raise ptf.errors.UnavailableError("of the session")

    with pytest.raises(KeyError, match="the program's"), ptf.local_cluster() as cluster:
        cluster.flush()
        monkeypatch.setattr(session, "close_session", fail)
        raise KeyError("the program's")
    assert children() == {}


def test_options_of_the_cluster_are_passed_on():
    local = ptf.local_cluster(2, staleness=0, namespace="job", timeout=11)
    with local as cluster:
        assert (cluster.staleness, cluster.namespace) == (0, "job")
        assert cluster.timeout == 11.0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"shards": 0}, "`shards` must be an integer from 1"),
        ({"staleness": -1}, "staleness=-1"),
        ({"start_timeout": 0}, "start_timeout=0"),
        ({"log_level": "loud"}, "log_level='loud'"),
        ({"memory_limit": "much"}, "memory_limit='much'"),
    ],
)
def test_wrong_options_are_refused_before_a_shard_runs(options, told):
    with pytest.raises(ValueError, match=told):
        ptf.local_cluster(**options)


def test_an_unknown_option_is_refused():
    with pytest.raises(TypeError, match="stalenes"):
        ptf.local_cluster(stalenes=1)


def test_a_shard_that_does_not_start_is_told_with_its_output(tmp_path, monkeypatch):
    monkeypatch.setenv("PERSIA_LIBRARY_DIR", str(tmp_path))
    with pytest.raises(ConnectionError) as raised:
        ptf.local_cluster(shards=2).start()
    assert "shard ps " in str(raised.value)
    assert "ended with exit code 1 before it listened" in str(raised.value)
    assert "native library is missing" in str(raised.value)
    assert children() == {}


def test_shards_that_start_too_late_are_told():
    with pytest.raises(ConnectionError, match="within 1e-09 s. Give `start_timeout`"):
        ptf.local_cluster(start_timeout=1e-9).start()
    assert children() == {}


def test_rows_come_back_from_the_recovery_folder(tmp_path, table):
    for run in range(2):
        with ptf.local_cluster(2, recovery_folder=tmp_path / "log") as cluster:
            rows = made(cluster, table)
            if run == 0:
                rows.assign(range(9), np.full((9, 4), 2, np.float32))
            assert rows.lookup(range(9)).tolist() == [[2.0] * 4] * 9


def test_a_shard_that_is_killed_comes_back_with_a_recovery_folder(tmp_path, table):
    with ptf.local_cluster(recovery_folder=tmp_path, timeout=60) as cluster:
        rows = made(cluster, table)
        rows.assign([1], np.ones((1, 4), np.float32))
        [killed] = children()
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: children().keys() - {killed}, "another process")
        assert rows.lookup([1]).tolist() == [[1.0] * 4]


def test_checkpoints_go_to_the_root(tmp_path, table):
    with ptf.local_cluster(2, checkpoint_root=tmp_path) as cluster:
        assert cluster.checkpoint_root == str(tmp_path)
        made(cluster, table).assign([1], np.ones((1, 4), np.float32))
        saved = ptf.checkpoint.save(tmp_path / "run", cluster=cluster)
    with ptf.local_cluster(3, checkpoint_root=tmp_path) as cluster:
        ptf.checkpoint.restore(saved.folder, cluster=cluster)
        rows = ptf.Table(table, cluster=cluster).lookup([1])
        assert rows.tolist() == [[1.0] * 4]


def test_a_token_is_the_shards_too(token_file):
    path = token_file(b"0123456789abcdef")
    with ptf.local_cluster(auth_token_file=path) as cluster:
        assert len(cluster.stats()) == 1
        with pytest.raises(ptf.errors.UnauthenticatedError):
            ptf.Cluster(cluster.shards, auth_token_file="", timeout=5).stats()


def test_shards_outlive_the_thread_that_asked_for_them(local_cluster):
    local = local_cluster(2)
    asking = threading.Thread(target=local.start)
    asking.start()
    asking.join()
    # The kernel signals a child at the end of the thread that started it.
    [parent] = [t for t in threading.enumerate() if t.name == "persia-local-cluster"]
    listed = Path(f"/proc/self/task/{parent.native_id}/children").read_text()
    assert sorted(map(int, listed.split())) == sorted(children())
    assert len(local.start().stats()) == 2


@pytest.mark.parametrize("line", ["\n", "raise\n"])
def test_shards_have_ended_when_the_program_has(program, line):
    process, pids = program
    errors = process.communicate(line)[1]
    assert not any(map(is_alive, pids))
    assert errors.count("Stopped") == 2


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGKILL])
def test_shards_end_when_the_program_is_killed(program, signum):
    process, pids = program
    assert len(pids) == 2
    process.send_signal(signum)
    wait_until(lambda: not any(map(is_alive, pids)), "the shards' end")


def test_updates_at_the_programs_end_arrive(tmp_path, run_python, table):
    run_python(
        "import numpy as np\n"
        "import persia_tf as ptf\n"
        "from persia_tf._keras import keras\n"
        f"local = ptf.local_cluster(recovery_folder={str(tmp_path)!r}, staleness=4)\n"
        "layer = ptf.layers.PersiaEmbedding(\n"
        f"    4, table={table!r}, optimizer='sgd', cluster=local.start()\n"
        ")\n"
        "model = keras.Sequential([keras.Input((1,), dtype='int64'), layer])\n"
        "model.compile('sgd', 'mse')\n"
        "model.fit(np.arange(64)[:, None], np.ones((64, 1, 4)), batch_size=4,"
        " verbose=0)\n"
    )
    with ptf.local_cluster(recovery_folder=tmp_path) as cluster:
        [shard] = cluster.stats()
        assert [part.rows for part in shard.tables] == [64]


def test_several_threads_share_one(local_cluster):
    local = local_cluster()
    started = []
    threads = [
        threading.Thread(target=lambda: started.append(local.start())) for _ in "ab"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert started[0] is started[1]
    assert len(children()) == 1


def test_a_child_that_somebody_else_waited_for_counts_as_ended(local_cluster):
    local = local_cluster()
    local.start()
    [pid] = children()
    os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
    local.stop()
    assert not is_alive(pid)
