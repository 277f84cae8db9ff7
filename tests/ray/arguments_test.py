"""The arguments of `ptf.ray.Cluster`, which are checked before anything starts."""

import pytest

import persia_tf as ptf

pytest.importorskip("ray")


@pytest.mark.parametrize(
    ("argument", "value", "error", "message"),
    [
        ("shards", 0, ValueError, "`shards` must be an integer from 1"),
        ("standbys", 2, ValueError, "`standbys` must be an integer from 0 to 1"),
        ("acknowledge", "all", ValueError, "`acknowledge` must be one of"),
        ("acknowledge", "standby", ValueError, "`acknowledge` and `log_root` need"),
        ("log_root", "/logs", ValueError, "`acknowledge` and `log_root` need"),
        ("embedding_workers", -1, ValueError, "`embedding_workers` must be an integer"),
        ("data_workers", -1, ValueError, "`data_workers` must be an integer from 0"),
        ("insecure", 1, TypeError, "`insecure` must be a bool"),
        ("cache_rows", "many", TypeError, "`cache_rows` must be an integer"),
        ("worker_timeout", 0, ValueError, "`worker_timeout` must be a finite number"),
        ("checkpoint_interval", 0, ValueError, "`checkpoint_interval` must be a"),
        ("memory_limit", "much", ValueError, "`memory_limit` as a str must be"),
        ("cpus", 0, ValueError, "`cpus` must be a finite number above 0"),
        ("strategy", "NEAR", ValueError, "`strategy` must be one of"),
        ("start_timeout", 0, ValueError, "`start_timeout` must be a finite number"),
        ("log_level", "loud", ValueError, "`log_level` must be one of"),
        ("name", 5, TypeError, "`name` must be a str"),
        ("name", "", ValueError, "`name` must be the name of one folder"),
        ("name", "a/b", ValueError, "`name` must be the name of one folder"),
        ("name", "..", ValueError, "`name` must be the name of one folder"),
        ("checkpoint_root", "s3://bucket", ValueError, "`recovery_root` must be a"),
        ("recovery_root", "s3://bucket", ValueError, "`recovery_root` must be a"),
    ],
)
def test_a_wrong_argument_is_refused(argument, value, error, message):
    with pytest.raises(error) as raised:
        ptf.ray.Cluster(**{"checkpoint_root": "/checkpoints", argument: value})
    assert str(raised.value).startswith(message)


def test_a_checkpoint_root_is_demanded():
    with pytest.raises(TypeError, match="checkpoint_root"):
        ptf.ray.Cluster()


def test_a_cluster_that_does_not_run_says_so():
    cluster = ptf.ray.Cluster(checkpoint_root="/checkpoints")
    cluster.stop()
    for use in (cluster.connection, cluster.save, cluster.restore):
        with pytest.raises(RuntimeError, match="the servers do not run: use the"):
            use()
