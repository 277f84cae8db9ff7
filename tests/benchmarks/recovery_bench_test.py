"""The figures computed from the rates with and without recovery."""

import recovery_bench


def test_each_window_is_compared_with_the_plain_one_of_its_turn():
    turns = [
        {"none": 10, "checkpoint": 10, "log_system": 9, "log_device": 5},
        {"none": 100, "checkpoint": 90, "log_system": 100, "log_device": 40},
        {"none": 1, "checkpoint": 2, "log_system": 1, "log_device": 1},
    ]
    spreads = recovery_bench.ratios(turns)
    assert "none" not in spreads
    assert spreads["log_device"] == {"median": 0.5, "least": 0.4, "most": 1}
    assert spreads["checkpoint"] == {"median": 1, "least": 0.9, "most": 2}


def test_a_log_grows_by_what_its_segments_do(tmp_path):
    shard = tmp_path / "0"
    shard.mkdir()
    (shard / "log-1").write_bytes(bytes(10))
    (shard / "log-2").write_bytes(bytes(5))
    before = recovery_bench.log_sizes(tmp_path)
    (shard / "log-1").unlink()
    (shard / "log-2").write_bytes(bytes(8))
    (shard / "log-3").write_bytes(bytes(4))
    (shard / "base-1").write_bytes(bytes(100))
    assert recovery_bench.growth(before, recovery_bench.log_sizes(tmp_path)) == 7
