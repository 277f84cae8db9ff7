"""What `persia top` computes from two samples, and how it draws that."""

import dataclasses
import io

import pytest
from rich.console import Console

from persia_tf import errors, stats
from persia_tf.monitoring import cluster_page, page_layout
from persia_tf.monitoring.cluster_view import Sample, cluster_view, quantile

BOUNDS = stats.bucket_bounds()


def request(name, seconds=0.0, failed=0, **counts):
    """Requests of one type; `counts` are numbers by bucket: b0=3, b5=1."""
    buckets = [counts.get(f"b{b}", 0) for b in range(len(BOUNDS))]
    return stats.RequestStats(name, failed, seconds, tuple(buckets))


def table(name="user", rows=100, looked_up=0, found=0, updated=0, evicted=0):
    return stats.TableStats(
        *(name, 8, rows, 6400, 200, looked_up, found, updated, 0, 0, evicted, 0)
    )


def shard(address="a:1", tables=(), requests=(), trainers=(), **more):
    return stats.ProcessStats(
        *(address, 0, 0, 0, 0, 0, 0, 0, 2, tuple(tables)),
        requests=tuple(requests),
        trainers=tuple(trainers),
        **more,
    )


def view(before, now, down=()):
    return cluster_view(Sample(10.0, [before], []), Sample(12.0, [now], down))


def test_rates_are_per_second_between_the_samples():
    before = shard(requests=[request("lookup", b0=10)], bytes_in=1000)
    now = shard(requests=[request("lookup", b0=30, failed=4)], bytes_in=9000)
    (server,) = view([before], [now]).servers
    assert server.lookups == 10
    assert server.failed == 2
    assert server.bytes_in == 4000
    assert server.updates == 0
    assert server.update_p99 is None


def test_a_first_sample_has_no_rates():
    now = shard(requests=[request("lookup", b0=30)], tables=[table(looked_up=9)])
    seen = cluster_view(None, Sample(1.0, [[now]], []))
    assert seen.seconds == 0
    assert seen.servers[0].lookups == 0
    assert seen.tables[0].looked_up == 0
    assert seen.tables[0].rows == 100


def test_a_server_that_did_not_answer_before_has_no_rates_yet():
    now = shard("b:1", requests=[request("lookup", b0=10**9, failed=10**6)])
    (server,) = view([shard("a:1")], [now]).servers
    assert (server.lookups, server.failed, server.lookup_p99) == (0, 0, None)


def test_a_restarted_server_counts_from_zero():
    before = shard(requests=[request("lookup", b0=1000)], bytes_in=10**6)
    now = shard(requests=[request("lookup", b0=8)], bytes_in=800)
    (server,) = view([before], [now]).servers
    assert server.lookups == 4
    assert server.bytes_in == 400


@pytest.mark.parametrize(
    ("share", "counts", "expected"),
    [
        (0.5, {"b3": 10}, (BOUNDS[2] + BOUNDS[3]) / 2),
        (0.5, {"b0": 10}, BOUNDS[0] / 2),
        (0.99, {"b1": 98, "b4": 2}, (BOUNDS[3] + BOUNDS[4]) / 2),
        (0.5, {f"b{len(BOUNDS) - 1}": 1}, BOUNDS[-2]),
        (0.5, {}, None),
    ],
)
def test_quantiles_are_interpolated(share, counts, expected):
    found = quantile(request("lookup", **counts), share)
    assert found == (None if expected is None else pytest.approx(expected))


def test_tables_are_summed_over_shards():
    before = [shard("a:1", [table()]), shard("b:1", [table()])]
    now = [
        shard("a:1", [table(rows=300, looked_up=80, found=60, updated=40)]),
        shard("b:1", [table(rows=100, looked_up=20, found=20, evicted=6)]),
    ]
    (seen,) = view(before, now).tables
    assert (seen.rows, seen.bytes, seen.load) == (400, 12800, 1.0)
    assert (seen.looked_up, seen.hit_rate) == (50, 0.8)
    assert (seen.updated, seen.evicted) == (20, 3)
    assert seen.fullest == 1.5


def test_a_worker_is_a_server_and_its_shards_are_told_once():
    worker = shard("w:1", [table("cached")], role="worker")
    told = [worker, shard("a:1", [table()])]
    now = Sample(1.0, [told, [shard("w:2", role="worker"), told[1]]], [])
    seen = cluster_view(None, now)
    assert [server.address for server in seen.servers] == ["w:1", "a:1", "w:2"]
    assert [each.name for each in seen.tables] == ["user"]


def test_a_trainer_is_the_same_on_all_shards():
    def trainer(updates, staleness, idle):
        return stats.TrainerStats("host:7", updates, staleness, 5, idle)

    before = [shard("a:1", trainers=[trainer(10, 0, 0)]), shard("b:1")]
    now = [
        shard("a:1", trainers=[trainer(30, 1, 100)]),
        shard("b:1", trainers=[trainer(8, 3, 2500)]),
    ]
    (seen,) = view(before, now).trainers
    assert seen.updates == 10
    assert seen.staleness == 3
    assert seen.idle == 0.1


def test_a_trainer_that_has_long_been_idle_is_not_shown():
    trainers = [
        stats.TrainerStats(f"host:{idle}", 1, 0, 0, 1000 * idle) for idle in (599, 600)
    ]
    shown = view([], [shard(trainers=trainers)]).trainers
    assert [trainer.program for trainer in shown] == ["host:599"]


def text(seen, columns=80, lines=None):
    console = Console(file=io.StringIO(), width=columns)
    console.print(cluster_page.page(seen, columns, lines))
    return console.file.getvalue()


def test_the_page_shows_servers_tables_and_trainers():
    trainer = stats.TrainerStats("host:7", 10, 2, 5, 100)
    now = shard(
        *("10.0.0.1:7000", [table(rows=12345)]),
        requests=[request("lookup", b3=10), request("update", b8=2)],
        trainers=[trainer],
        memory_bytes=3 * 2**30,
        memory_limit=4 * 2**30,
        log_records=5,
        log_bytes=2048,
        checkpoint_running=1,
        checkpoint_rows=1500,
        checkpoint_total_rows=6000,
    )
    before = shard("10.0.0.1:7000", [table()], trainers=[trainer])
    lines = text(view([before], [now])).splitlines()
    assert lines[0].startswith("1 of 1 servers up, 1 tables, 12.3k rows, 6.25KiB;")
    first, load = (line for line in lines if line.startswith("10.0.0.1:7000"))
    assert first.split() == (
        "10.0.0.1:7000 shard 2 0 3GiB 75% 2KiB checkpoint 1.50k of 6k rows".split()
    )
    assert load.split()[:5] == ["10.0.0.1:7000", "5", "96us", "127us", "1"]
    assert any(line.split()[:3] == ["user", "8", "12.3k"] for line in lines)
    assert any(line.split()[:3] == ["host:7", "0.0", "2"] for line in lines)


def test_a_line_is_no_wider_than_the_terminal():
    seen = view([], [shard("ps-0.shards.training:7000", [table("n" * 50)])])
    assert max(len(line) for line in text(seen, 80).splitlines()) <= 80


@pytest.fixture
def large():
    """Eight servers, one of them down, ten tables and three programs."""

    def of(index, factor):
        tables = [
            table(f"recommender/feature_{t}", updated=factor * t * 100)
            for t in range(10)
        ]
        trainers = [
            stats.TrainerStats(f"trainer-{t}.training.svc:123{t}", factor * t, 1, 2, 0)
            for t in range(3)
        ]
        address = f"persia-ps-{index}.persia-ps.training:7000"
        count = factor * index
        requests = [request("lookup", b3=count), request("update", b9=count)]
        return shard(
            address,
            tables,
            requests,
            trainers,
            memory_bytes=10**9,
            memory_limit=10**10,
            log_records=1,
            log_bytes=2**25,
        )

    down = [("persia-ps-7.persia-ps.training:7000", "did not answer within 5 s: why")]
    return view([of(i, 1) for i in range(7)], [of(i, 3) for i in range(7)], down=down)


HEADERS = ["SERVER", "SERVER", "TABLE", "TRAINER"]


def headers(lines):
    words = [line.split()[0] for line in lines if line]
    return [word for word in words if word in HEADERS]


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
@pytest.mark.parametrize("height", [24, 40, None])
def test_a_small_terminal_shows_every_table(large, columns, height):
    lines = text(large, columns, height).splitlines()
    assert len(lines) <= (height or 100)
    assert max(map(len, lines)) <= columns
    assert headers(lines) == HEADERS
    # No name is shortened to nothing, and what is shortened says so.
    for part in ("persia-ps", "recommende", "trainer-"):
        assert any(line.startswith(part) for line in lines)
    shown = [line.split()[0] for line in lines if line.startswith("persia-ps")]
    assert all(name.endswith(":7000") for name in shown)
    assert any(name.startswith("persia-ps-6.") for name in shown)
    if height is None:
        assert not any("more" in line for line in lines)


def test_what_does_not_fit_is_counted_and_the_busiest_are_shown(large):
    blocks = [block.splitlines() for block in text(large, 80, 24).split("\n\n")]
    _, servers, loads, tables, trainers = blocks
    for block, count in ((servers, 8), (loads, 7), (tables, 10)):
        shown = len(block) - 2
        assert block[-1] == f"... and {count - shown} more"
        assert shown >= 2
    assert "DOWN: it did not answer within 5 s" in servers[1]
    assert servers[2].startswith("persia-ps-6.")
    assert tables[1].startswith("recommender/feature_9")
    assert tables[2].startswith("recommender/feature_8")
    assert len(trainers) == 4


def test_the_least_important_columns_are_left_out_first(large):
    wide = text(large, 80).splitlines()
    (of_servers, _) = [line for line in wide if line.startswith("SERVER")]
    assert of_servers.split()[1:] == "ROLE CONNS FAIL/s MEMORY LIMIT LOG STATE".split()
    narrow = text(large, 40).splitlines()
    (of_servers, of_loads) = [line for line in narrow if line.startswith("SERVER")]
    assert of_servers.split() == ["SERVER", "MEMORY", "LIMIT", "STATE"]
    assert of_loads.split()[1:] == ["LOOKUP/s", "UPDATE/s"]
    (of_tables,) = [line for line in narrow if line.startswith("TABLE")]
    assert of_tables.split()[:2] == ["TABLE", "ROWS"]
    assert "IDS/s" in of_tables


@pytest.mark.parametrize(
    ("name", "width", "cut", "expected"),
    [
        ("a:1", 3, "middle", "a:1"),
        ("persia-ps-0.persia-ps:7000", 19, "middle", "persia-ps-0.p…:7000"),
        ("persia-ps-0.persia-ps:7000", 5, "middle", "pe…00"),
        ("recommender/feature_7", 10, "middle", "reco…ure_7"),
        ("DOWN: it failed", 8, "end", "DOWN: i…"),
        ("名前名前", 5, "middle", "名…前"),
        ("abc", 1, "middle", "…"),
        ("abc", 0, "end", ""),
    ],
)
def test_a_name_is_shortened_within_its_width(name, width, cut, expected):
    assert page_layout.shortened(name, width, cut) == expected


def test_lines_are_shared_evenly():
    assert page_layout.shares([8, 7, 10, 3], 15) == [4, 4, 4, 3]
    assert page_layout.shares([1, 1, 100], 20) == [1, 1, 18]
    assert page_layout.shares([5, 5], 100) == [5, 5]
    assert page_layout.shares([5, 5, 1], 0) == [1, 1, 1]


def test_a_server_that_is_down_is_shown_with_its_error():
    seen = view([], [shard()], down=[("b:1", "did not answer: connection refused")])
    (line,) = [line for line in text(seen, 120).splitlines() if "b:1" in line]
    assert line.split(maxsplit=1)[1].strip() == (
        "DOWN: it did not answer: connection refused"
    )
    assert "1 of 2 servers up" in text(seen)


@pytest.mark.parametrize(
    ("more", "shown"),
    [
        ({"log_failed": 1}, "LOG FAILED"),
        ({"lost_updates": 7}, "lost up to 7 updates"),
        ({"role": "replica", "source": "a:1", "behind_seconds": 0.25}, "0.2 s behind"),
        ({"role": "replica", "source": "a:1"}, "copying"),
        ({"role": "standby", "source": "a:1", "behind_seconds": 0.0}, "standby of a:1"),
    ],
)
def test_the_state_tells_what_is_wrong(more, shown):
    now = shard()
    now = dataclasses.replace(now, **more)
    assert shown in text(view([], [now]), 120)


def test_names_cannot_draw():
    seen = view([], [shard("a:1", [table("[red]x\x1b[2J")])])
    assert "[red]x?[2J" in text(seen, 120)


def test_without_rich_the_error_names_the_extra(monkeypatch):
    import sys

    for name in [name for name in sys.modules if name.split(".")[0] == "rich"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(errors.FailedPreconditionError, match=r"persia_tf\[top\]"):
        cluster_page.page(view([], [shard()]), 80)
