"""bench_guard.py compares two checkouts' own benchmarks, in turn."""

import json

import bench_guard
import native_programs
import pytest

BENCHMARK = """
import json, sys
with open({log!r}, "a") as log:
    print({name!r}, *sys.argv[1:], file=log)
print("text before the last line")
print(json.dumps({{"figures": {figures}}}))
"""


@pytest.fixture
def make_checkout(tmp_path):
    """Makes a folder whose store_bench.py reports the given figure for all."""

    def make(name, figure):
        folder = tmp_path / name / "benchmarks"
        folder.mkdir(parents=True)
        figures = dict.fromkeys(bench_guard.BENCHMARKS["store"][3], figure)
        text = BENCHMARK.format(
            log=str(tmp_path / "log"), name=name, figures=json.dumps(figures)
        )
        (folder / "store_bench.py").write_text(text)
        return folder.parent

    return make


def run_guard(monkeypatch, capsys, ours, *arguments):
    monkeypatch.setattr(native_programs, "ROOT", ours)
    monkeypatch.setattr("sys.argv", ["bench_guard.py", *map(str, arguments)])
    bench_guard.main()
    lines = capsys.readouterr().out.splitlines()
    return lines[-2], json.loads(lines[-1])


def test_figures_are_ours_over_those_of_the_base(
    make_checkout, monkeypatch, capsys, tmp_path
):
    base, ours = make_checkout("base", 0.2), make_checkout("ours", 0.3)
    fell, result = run_guard(
        monkeypatch, capsys, ours, "--base", base, "--turns", 2, "--quick"
    )
    assert fell == "fell by more than 5%: none"
    assert [*result["figures"].values()] == pytest.approx([1.5] * 4)
    turns = [line.split()[0] for line in (tmp_path / "log").read_text().splitlines()]
    assert turns == ["base", "ours", "base", "ours"]


def test_what_fell_is_named(make_checkout, monkeypatch, capsys):
    base, ours = make_checkout("base", 0.2), make_checkout("ours", 0.18)
    fell, result = run_guard(monkeypatch, capsys, ours, "--base", base)
    assert fell.startswith("fell by more than 5%: store.lookup_over_gather")
    assert result["setup"]["base"] == str(base)


def test_a_commit_that_does_not_exist_is_refused(monkeypatch):
    monkeypatch.setattr("sys.argv", ["bench_guard.py", "--base", "no-such-commit"])
    with pytest.raises(SystemExit, match="no-such-commit"):
        bench_guard.main()


def test_an_unknown_benchmark_is_refused(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["bench_guard.py", "--only", "stores"])
    with pytest.raises(SystemExit):
        bench_guard.main()
    assert "Received: 'stores'" in capsys.readouterr().err
