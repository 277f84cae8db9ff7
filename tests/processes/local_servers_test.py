"""Servers that a process starts on its machine."""

from persia_tf.processes import local_servers, memory


def test_the_command_line_of_a_shard_has_the_values_that_are_given():
    values = {"log_size": 6, "checkpoint_root": "a b", "recovery": None}
    assert local_servers.shard_command_line(None, 2, values, "info") == [
        "--log-level=info",
        "--log-size=6",
        "--checkpoint-root=a b",
        f"--memory-limit={memory.share_of(2)}",
    ]


def test_a_shard_has_the_recovery_folder_and_the_limit_that_are_given():
    values = {"memory_limit": "1GiB"}
    assert local_servers.shard_command_line("logs/ps-1", 2, values, "info") == [
        "--log-level=info",
        "--memory-limit=1GiB",
        "--recovery-folder=logs/ps-1",
    ]
