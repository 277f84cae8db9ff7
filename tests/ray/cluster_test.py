"""Shards and embedding workers as actors, whose processes and nodes die."""

import os
import stat
from pathlib import Path

import numpy as np
import pytest
from harness import wait_until
from ray_training import connected, kill, model_of, rows_of, train

import persia_tf as ptf
from persia_tf import errors
from persia_tf.client import session
from persia_tf.ray import folder_lock

ray = pytest.importorskip("ray")


@pytest.mark.parametrize("workers", [0, 2])
def test_a_killed_shard_recovers_from_the_checkpoint(start_cluster, workers):
    cluster = start_cluster(shards=2, embedding_workers=workers)
    with connected(cluster):
        model = model_of("user")
        train(model, 5)
        saved = rows_of("user")
        folder = cluster.save()
        train(model, 3)
        last = rows_of("user")
        kill(cluster, 1)
        # The rows of one shard are those of the checkpoint, and the others' are not.
        found = rows_of("user")
        is_saved = np.all(found == saved, axis=1)
        assert np.all(is_saved | np.all(found == last, axis=1))
        assert 0 < np.sum(is_saved) < len(found)
        train(model, 1)
        wait_until(lambda: cluster.losses[0].updates, "the count of what was lost")
    [loss] = cluster.losses
    assert (loss.shard, loss.address) == (1, cluster.shards[1])
    assert loss.updates == 3
    assert cluster.last_saved == folder


def test_a_shard_without_a_checkpoint_restarts_without_rows(start_cluster):
    cluster = start_cluster(shards=1)
    with connected(cluster):
        model = model_of("user")
        train(model, 2)
        kill(cluster, 0)
        assert len(ptf.Table("user")) == 0
        train(model, 1)
        assert len(ptf.Table("user")) == 30


def test_a_restart_waits_for_a_checkpoint_that_is_missing(
    start_cluster, tmp_path, capsys
):
    told = []

    def is_told(text):
        told.append(capsys.readouterr().err)
        return text in "".join(told)

    cluster = start_cluster(shards=1)
    with connected(cluster):
        train(model_of("user"), 2)
        saved = rows_of("user")
        folder = cluster.save()
        os.rename(folder, tmp_path / "elsewhere")
        before = cluster.shards
        ray.kill(cluster.actors[0], no_restart=False)
        reason = f"tried again in 2 s: this shard needs checkpoint {folder}"
        wait_until(lambda: is_told(reason), "the error")
        assert cluster.shards == before
        os.rename(tmp_path / "elsewhere", folder)
        np.testing.assert_array_equal(rows_of("user"), saved)


def test_a_killed_embedding_worker_is_followed(start_cluster):
    cluster = start_cluster(shards=1, embedding_workers=1)
    with connected(cluster):
        model = model_of("user")
        train(model, 2)
        [worker] = cluster._now().workers
        before = rows_of("user")
        ray.kill(worker, no_restart=False)
        np.testing.assert_array_equal(rows_of("user"), before)
        train(model, 1)
    assert cluster.losses == []


def test_a_checkpoint_is_restored(start_cluster):
    first = start_cluster(shards=2, name="job")
    with connected(first):
        train(model_of("user"), 3)
        trained = rows_of("user")
    folder = first.save()
    first.stop()
    second = start_cluster(shards=1, name="job")
    assert second.restore() == folder
    with connected(second):
        np.testing.assert_array_equal(rows_of("user"), trained)


def test_a_folder_of_a_cluster_that_runs_is_refused(start_cluster):
    first = start_cluster(shards=1)
    with connected(first):
        train(model_of("user"), 1)
    folder = first.save()
    with pytest.raises(errors.FailedPreconditionError) as raised:
        start_cluster(shards=1)
    assert "another cluster that runs now saves its checkpoints" in str(raised.value)
    assert f"process {os.getpid()} of " in str(raised.value)
    assert "`name=`" in str(raised.value)
    other = start_cluster(shards=1, name="other")
    assert os.path.dirname(other.save()) != os.path.dirname(folder)
    assert first.save() > folder


def test_a_folder_of_a_driver_that_was_killed_is_used_again(
    start_cluster, tmp_path, monkeypatch
):
    monkeypatch.setattr(folder_lock, "LEASE_SECONDS", 1.0)
    (tmp_path / ".ray-lock").write_text('{"holder": "dead", "about": "the dead"}')
    assert start_cluster(shards=1).save()


def test_a_cluster_whose_folder_was_taken_saves_no_more(start_cluster, tmp_path):
    cluster = start_cluster(shards=1)
    (tmp_path / ".ray-lock").write_text('{"holder": "other", "about": "the other"}')
    with pytest.raises(errors.FailedPreconditionError, match="the other. So this"):
        cluster.save()


def test_servers_that_leave_no_cpu_to_trainers_are_told_of(start_cluster, caplog):
    total = ray.cluster_resources()["CPU"]
    start_cluster(shards=2, cpus=2)
    assert "are free" not in caplog.text
    start_cluster(shards=1, name="other", cpus=2)
    start_cluster(shards=1, name="third", cpus=2, strategy="PACK")
    assert f"of Ray's {total:g} CPUs, these servers reserve 2, and 0 are free" in (
        caplog.text
    )


def test_checkpoints_are_saved_at_intervals(start_cluster):
    cluster = start_cluster(shards=1, checkpoint_interval=0.2)
    wait_until(lambda: cluster.last_saved, "a checkpoint")
    first = cluster.last_saved
    wait_until(lambda: cluster.last_saved != first, "another checkpoint")


def test_what_is_shared_is_removed_at_the_end(start_cluster, tmp_path):
    cluster = start_cluster(shards=2)
    assert list(tmp_path.glob(".ray-recovery-*/ps-1/1"))
    cluster.stop()
    assert list(tmp_path.iterdir()) == []


def test_a_task_of_ray_is_connected_for_its_block(start_cluster):
    def loop():  # Within the test, since Ray's workers cannot import this module.
        path = Path(os.environ["PERSIA_AUTH_TOKEN_FILE"])
        mode = stat.S_IMODE(path.stat().st_mode)
        return os.environ["PERSIA_PS"].split(","), mode, str(path)

    cluster = start_cluster(shards=2)
    task = ray.remote(num_cpus=0)(cluster.train_loop(loop))
    shards, mode, path = ray.get(task.remote())
    assert (shards, mode) == (cluster.shards, 0o600)
    assert not os.path.exists(path)


def test_a_connection_is_entered_once_at_a_time(start_cluster):
    cluster = start_cluster(shards=1)
    connection = cluster.connection()
    with connection, pytest.raises(RuntimeError, match="in use by another `with`"):
        connection.__enter__()
    cluster.save()  # Opens the driver's own session.
    for _ in range(2):
        with connection:
            train(model_of("user"), 1)
    assert "PERSIA_PS" not in os.environ
    shards = ",".join(cluster.shards)
    assert [each.shards for each in session.open_sessions()].count(shards) == 1
    cluster.stop()
    assert shards not in [each.shards for each in session.open_sessions()]


def test_a_client_without_the_token_is_refused(start_cluster):
    cluster = start_cluster(shards=1)
    with pytest.raises(errors.PersiaError, match="token"):
        ptf.Cluster(cluster.shards, auth_token_file="").stats()


def test_no_room_is_an_error_that_says_what_there_is(start_cluster):
    with pytest.raises(errors.UnavailableError) as raised:
        start_cluster(shards=2, cpus=1000, memory_limit="1GiB", start_timeout=0.5)
    message = str(raised.value)
    assert message.startswith("Ray found no room for 2 servers within 0.5 s")
    assert "{CPU: 1000, memory: 1.07374e+09}. Ray has 3 nodes, with {CPU: " in message


def test_a_shard_that_cannot_start_is_an_error_with_its_reason(start_cluster):
    with pytest.raises(errors.UnavailableError) as raised:
        start_cluster(checkpoint_root="/proc/no_such_folder")
    assert str(raised.value).startswith("one shard did not start: ")
    assert "/proc/no_such_folder" in str(raised.value)


def test_a_slow_start_is_an_error_that_names_the_option(start_cluster, monkeypatch):
    from persia_tf.ray import running

    def too_late(*_):
        raise ray.exceptions.GetTimeoutError("late")

    monkeypatch.setattr(running, "addresses_of", too_late)
    with pytest.raises(errors.UnavailableError, match="not every shard started within"):
        start_cluster()
