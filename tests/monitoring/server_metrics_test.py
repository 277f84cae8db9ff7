"""The metrics of shards and embedding workers, from made-up statistics."""

import dataclasses

from persia_tf import stats
from persia_tf.monitoring import server_metrics
from persia_tf.monitoring.server_metrics import ServerMetrics

TABLE = stats.TableStats("user", 8, *range(1, 11))
TRAINERS = (
    stats.TrainerStats("a:1", 5, 3, 4, idle_millis=1500),
    stats.TrainerStats("ended:2", 9, 0, 0, idle_millis=3_600_000),
)
BUCKETS = (2, 1, *[0] * (len(stats.bucket_bounds()) - 2))
PROCESS = stats.ProcessStats(
    *("10.0.0.1:7000", 1, 20, 30, 4, 5, 6, 7, 8, (TABLE,)),
    bytes_in=100,
    memory_bytes=1000,
    memory_limit=4000,
    slots=5461,
    requests=(stats.RequestStats("lookup", 1, 0.25, BUCKETS),),
    trainers=TRAINERS,
)


OF_PROCESS = ("SERVER", "STORE", "LOG", "CHECKPOINT", "WORKER")


def samples(process=PROCESS, ready=True, folders=None):
    metrics = ServerMetrics(lambda: process, lambda: ready, folders or {}, 2**33)
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in metrics.collect()
        for sample in family.samples
    }


def fields(kind, *without):
    return {field.name for field in dataclasses.fields(kind)} - set(without)


def test_every_counter_is_a_metric():
    of_process = {
        metric.source
        for group in OF_PROCESS
        for metric in getattr(server_metrics, group)
    }
    elsewhere = {
        "address",
        "role",
        "source",
        "behind_seconds",
    }  # In persia_server_info.
    of_topology = {"member"}  # `persia status --json` shows it.
    in_requests = {"lookups", "updates"}  # The counts of the latencies.
    lists = {"tables", "requests", "trainers"}
    others = elsewhere | of_topology | in_requests | lists
    assert of_process | others == fields(stats.ProcessStats)
    of_table = {metric.source for metric in server_metrics.TABLE}
    assert of_table == fields(stats.TableStats, "name", "dim")
    of_trainer = {metric.source for metric in server_metrics.TRAINER}
    assert of_trainer == fields(stats.TrainerStats, "program", "staleness_max")


def test_names_are_unique_and_begin_with_persia():
    names = [
        metric.name
        for group in (*OF_PROCESS, "TABLE", "COPIES", "TRAINER")
        for metric in getattr(server_metrics, group)
    ]
    assert len(set(names)) == len(names)
    assert all(name.startswith("persia_") for name in names)


def test_values_are_those_of_the_server():
    told = samples()
    assert told["persia_server_received_bytes_total",] == 100
    assert told["persia_store_memory_bytes",] == 1000
    assert told["persia_store_memory_limit_bytes",] == 4000
    assert told["persia_store_slots",] == 5461
    assert told["persia_table_rows", "user"] == TABLE.rows
    assert told["persia_server_request_failures_total", "lookup"] == 1
    assert told["persia_server_request_seconds_count", "lookup"] == 3
    assert told["persia_server_request_seconds_sum", "lookup"] == 0.25
    assert told["persia_server_ready",] == 1
    assert told["persia_process_memory_limit_bytes",] == 2**33
    assert ("persia_replica_behind_seconds",) not in told
    assert samples(ready=False)["persia_server_ready",] == 0


def test_programs_that_have_been_idle_for_long_are_left_out():
    told = samples()
    assert told["persia_client_staleness_steps", "a:1"] == 3
    assert told["persia_client_idle_seconds", "a:1"] == 1.5
    assert ("persia_client_staleness_steps", "ended:2") not in told


def test_the_volume_of_a_folder_is_told(tmp_path):
    told = samples(folders={"recovery": str(tmp_path), "gone": str(tmp_path / "no")})
    free = told["persia_volume_free_bytes", "recovery"]
    assert 0 < free <= told["persia_volume_size_bytes", "recovery"]
    assert ("persia_volume_free_bytes", "gone") not in told


def test_a_replica_tells_how_far_it_is_behind():
    replica = dataclasses.replace(
        PROCESS, role="replica", source="10.0.0.2:7000", behind_seconds=0.5
    )
    assert samples(replica)["persia_replica_behind_seconds",] == 0.5
    copying = dataclasses.replace(replica, behind_seconds=None)
    assert ("persia_replica_behind_seconds",) not in samples(copying)
    standby = dataclasses.replace(replica, role="standby")
    assert ("persia_replica_behind_seconds",) not in samples(standby)


def test_a_server_reports_what_its_role_has():
    told = {
        role: samples(dataclasses.replace(PROCESS, role=role))
        for role in ("shard", "standby", "replica", "worker")
    }

    def reporting(*sample):
        return [role for role, values in told.items() if sample in values]

    assert reporting("persia_server_connections") == list(told)
    assert reporting("persia_store_memory_bytes") == ["shard", "replica"]
    assert reporting("persia_table_rows", "user") == ["shard", "replica"]
    assert reporting("persia_log_failed") == ["shard"]
    assert reporting("persia_checkpoint_failures_total") == ["shard"]
    assert reporting("persia_server_retries_total") == ["worker"]
    assert told["worker"]["persia_copy_rows", "user"] == TABLE.rows


def test_a_shard_tells_whether_it_can_save_checkpoints():
    assert samples()["persia_checkpoint_enabled",] == 0
    can = samples(folders={"checkpoint": "s3://bucket/checkpoints"})
    assert can["persia_checkpoint_enabled",] == 1
    assert ("persia_volume_free_bytes", "checkpoint") not in can
