"""Trainings whose results are stored in a file."""

from accuracy_runs import Runs


def test_a_training_is_found_by_all_that_it_was_told(tmp_path):
    path = tmp_path / "runs.jsonl"
    said = {"figures": {"auc": 0.9}, "setup": {"mode": "sync", "seed": 0}}
    Runs(path).add(said)
    Runs(path).add({"figures": {"auc": 0.8}, "setup": {"mode": "sync", "seed": 1}})
    kept = Runs(path)
    assert kept.find({"seed": 0, "mode": "sync"}) == {"auc": 0.9}
    assert kept.find({"seed": 1, "mode": "sync"}) == {"auc": 0.8}
    assert kept.find({"seed": 2, "mode": "sync"}) is None
    assert kept.find({"seed": 0}) is None


def test_without_a_file_trainings_are_kept_for_the_program_alone(tmp_path):
    runs = Runs(None)
    runs.add({"figures": {"auc": 0.9}, "setup": {"seed": 0}})
    assert runs.find({"seed": 0}) == {"auc": 0.9}
    assert Runs(None).find({"seed": 0}) is None
