"""The workload of the lookup service, and the figures computed from its rounds."""

import numpy as np
import rows_over_redis
import workload_w1


def test_the_file_holds_rows_and_where_each_id_is_among_them(tmp_path):
    path = tmp_path / "workload"
    random = np.random.default_rng(0)
    ranks = random.integers(0, 40, (2, 8, workload_w1.FEATURES))
    unique = rows_over_redis.write_workload(path, ranks, most_rows=30)
    data = path.read_bytes()
    requests, lists, size = np.frombuffer(data, np.uint64, 3).astype(int)
    assert (requests, lists, size) == (2, 26, 8)
    sizes = np.frombuffer(data, np.uint64, lists, offset=24).astype(int)
    assert list(sizes) == [min(n, 30) for n in workload_w1.vocabularies()]
    at = 24 + 8 * lists
    rows = np.frombuffer(data, np.int64, sizes.sum(), offset=at)
    assert len(set(rows)) == len(rows)
    places = np.frombuffer(data, np.uint32, offset=at + rows.nbytes)
    ids = rows[places].reshape(requests, lists, size)
    expected = workload_w1.ids_of(ranks % sizes).transpose(0, 2, 1)
    np.testing.assert_array_equal(ids, expected)
    assert unique == np.mean([len(np.unique(request)) for request in ids])


def test_figures_are_ratios_of_medians():
    def rounds(*rates):
        return [{"rows_per_second": r, "p50_ms": 1.0, "p99_ms": 2.0} for r in rates]

    made = rows_over_redis.figures(
        {
            "ours": rounds(60, 1, 70),
            "ours_with_dedupe": rounds(45),
            "redis": rounds(3, 2, 900),
            "ours_two_clients": rounds(10),
            "redis_two_clients": rounds(5),
            "gather": rounds(600),
            "transport_two_connections": rounds(120),
            "ours_one_at_a_time": rounds(1),
            "redis_one_at_a_time": rounds(1),
        }
    )
    assert made["rows_over_redis"] == 20
    assert made["rows_over_redis_with_dedupe"] == 15
    assert made["rows_over_redis_two_clients"] == 2
    assert made["rows_over_gather"] == 0.1
    assert made["rows_over_transport"] == 0.5
