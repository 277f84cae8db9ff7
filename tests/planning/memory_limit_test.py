"""Which numbers of shards a memory limit allows."""

import pytest

import persia_tf as ptf


@pytest.fixture
def plan(make_model, make_dataset):
    """Plans with a limit; the run has some 5,000 rows of 256 bytes."""

    def make(memory_limit, shards=(1, 2, 4)):
        return ptf.plan(
            make_model({"output_dim": 64}),
            make_dataset(5_000, batch=1_000),
            run_steps=30,
            shards=shards,
            memory_limit=memory_limit,
        )

    return make


def memory_of(plan):
    return {each.shards: each.busiest_shard_bytes.high for each in plan.shards}


def test_without_a_limit_nothing_is_said(plan):
    made = plan(None)
    assert (made.memory_limit, made.least_shards) == (None, None)
    assert [each.fits for each in made.shards] == [None] * 3
    assert "fits" not in str(made)


def test_what_the_busiest_shard_needs_at_most_must_fit(plan):
    memory = memory_of(plan(None))
    made = plan(int(memory[2]) + 1)
    assert [each.fits for each in made.shards] == [False, True, True]
    assert made.least_shards == 2
    assert not any("may not fit" in warning for warning in made.warnings)
    assert "needs 2 shards or more" in str(made)
    assert "fits" in str(made)


def test_the_least_number_is_found_among_those_not_planned_for(plan):
    memory = memory_of(plan(None, [4, 5, 6, 7, 8]))
    made = plan(int(memory[7]) + 1, [8])
    least = min(number for number, high in memory.items() if high <= memory[7] + 1)
    assert made.least_shards == least < 8


def test_it_is_warned_if_none_fits(plan):
    made = plan(300_000)
    assert [each.fits for each in made.shards] == [False] * 3
    assert made.least_shards > 4
    [warning] = [each for each in made.warnings if "may not fit" in each]
    assert f"give {made.least_shards} shards or more" in warning
    enough = plan(300_000, [made.least_shards])
    assert enough.shards[0].fits
    assert not any("may not fit" in each for each in enough.warnings)


def test_a_limit_below_tables_without_rows_is_never_met(plan):
    made = plan("1kB")
    assert made.least_shards is None
    assert any("no number of shards is enough" in each for each in made.warnings)
    assert "no number of shards fits" in str(made)


def test_a_limit_is_a_number_of_bytes_or_a_text(plan):
    assert plan("1.5MiB").memory_limit == 3 << 19
    assert plan(10**6).memory_limit == 10**6


@pytest.mark.parametrize(
    ("limit", "error"), [(0, ValueError), ("64", ValueError), (2.5, TypeError)]
)
def test_what_is_no_limit_is_refused(limit, error, plan):
    with pytest.raises(error, match="`memory_limit`.*Received: memory_limit="):
        plan(limit)
