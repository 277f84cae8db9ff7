"""`persia plan`: the plan of a model and a sample that a function returns."""

import json
import os
import sys

import pytest

PROGRAM = """
import os
import sys

import numpy as np

assert __name__ != "__main__"
from shared import keras  # The program's folder is on the path.
import persia_tf as ptf


def make(sample=None):
    print("making")
    user = keras.Input((), dtype="int64", name="user")
    rows = ptf.layers.PersiaEmbedding(4, table="user")(user)
    model = keras.Model({"user": user}, keras.layers.Dense(1)(rows))
    model.compile("sgd", "mse")
    return model, [{"user": np.arange(20)}] * 3 if sample is None else sample


def make_empty():
    return make([])


def make_broken():
    open("nowhere.csv")


def make_broken_batches():
    def batches():
        yield {"user": np.arange(3)}
        raise ValueError("a row of the file has no user")

    return make(batches())


def make_arguments():
    return make()[0], [{"user": np.arange(len(sys.argv))}]
"""

# A program that needs no TensorFlow.
SMALL_PROGRAM = """
def make():
    return "model"


def make_nothing():
    pass


def take(model):
    return model, []


number = 7
"""


@pytest.fixture
def program(tmp_path):
    """A program in a folder of its own."""
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "shared.py").write_text("from persia_tf._keras import keras\n")
    path = folder / "train.py"
    path.write_text(PROGRAM)
    (folder / "small.py").write_text(SMALL_PROGRAM)
    return path


def test_a_plan_is_printed_and_written(persia, program, tmp_path):
    page, written = tmp_path / "plan.html", tmp_path / "plan.json"
    command = persia(
        *("plan", f"{program}:make", "--steps=2", "--run-steps=40", "--epochs=2"),
        *("--shards=2,3", "--memory-limit=1GiB"),
        *(f"--json={written}", f"--html={page}"),
    )
    assert command.wait() == 0, command.stderr
    assert "Plan for 40 steps in each of 2 epochs of 20 examples" in command.stdout
    assert "needs 1 shard or more" in command.stdout
    plan = json.loads(written.read_text())
    assert (plan["sample_steps"], plan["run_steps"], plan["epochs"]) == (2, 40, 2)
    assert [each["shards"] for each in plan["shards"]] == [2, 3]
    assert plan["memory_limit"] == 1 << 30
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_times_are_planned_if_asked_for(persia, program):
    command = persia(
        *("plan", f"{program}:make", "--json=-", "--shards=2"),
        *("--step-seconds=0.5", "--staleness=3", "--latency=0.001"),
        *("--target-rate=100", "--trainer-price=2", "--shard-price=1"),
    )
    assert command.wait() == 0, command.stderr
    plan = json.loads(command.stdout)
    assert plan["times"]["prices"] == {"trainer": 2.0, "shard": 1.0}
    assert (plan["times"]["staleness"], plan["times"]["latency"]) == (3, 0.001)
    [shards] = plan["shards"]
    # A step of 20 examples takes half a second.
    assert shards["times"]["trainers"] == 3
    assert shards["times"]["cost"] > 0


def test_json_on_stdout_is_alone_there(persia, program):
    command = persia("plan", f"{program}:make", "--json=-")
    assert command.wait() == 0, command.stderr
    [table] = json.loads(command.stdout)["tables"]
    assert table["sampled_ids"] == 20
    assert "making" in command.stderr


def test_a_module_may_be_named(persia, program):
    command = persia(
        *("plan", "train:make_arguments", "--json=-"),
        env={"PYTHONPATH": os.pathsep.join([str(program.parent), *sys.path])},
    )
    assert command.wait() == 0, command.stderr
    # The program does not see this command's arguments.
    assert json.loads(command.stdout)["batch_size"] == 1


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ("nowhere.py:make", "there is no file '{}/nowhere.py'"),
        ("small.py:mak", "has no function 'mak'; did you mean 'make'?"),
        ("small.py:number", "has no function 'number'"),
        ("small.py:take", "be called without arguments, and it takes (model)"),
        (
            "small.py:make",
            "must return a model and a sample, (model, sample)",
        ),
        ("small.py:make_nothing", "(model, sample). Received: NoneType"),
        ("train.py:make_empty", "`sample` must have at least one example"),
    ],
)
def test_what_cannot_be_planned_is_told_in_one_line(persia, program, function, told):
    command = persia("plan", program.parent / function)
    assert command.wait() == 2
    assert "Traceback" not in command.stderr
    [line] = [each for each in command.stderr.splitlines() if "persia plan" in each]
    assert line.startswith("persia plan: ")
    assert told.format(program.parent) in line


def test_a_module_that_is_not_there_is_told_in_one_line(persia):
    command = persia("plan", "nowhere.train:make")
    assert command.wait() == 2
    [line] = command.stderr.splitlines()
    assert line.startswith("persia plan: there is no module 'nowhere.train': give")


def test_arguments_that_the_plan_refuses_are_told_in_one_line(persia, program):
    for option, told in (
        ("--run-steps=2", "`run_steps` must be at least the number of batches"),
        ("--shards=2000", "`shards` must be an integer from 1 to 1024"),
        ("--target-rate=9", "--target-rate is about time, so it needs --time"),
        ("--trainer-price=3", "--trainer-price is about time, so it needs --time"),
    ):
        command = persia("plan", f"{program}:make", option)
        assert command.wait() == 2
        assert command.stderr.splitlines()[-1].startswith(f"persia plan: {told}")


@pytest.mark.parametrize(
    ("function", "cause"),
    [
        ("make_broken", "FileNotFoundError: [Errno 2]"),
        ("make_broken_batches", "ValueError: a row of the file has no user"),
    ],
)
def test_an_error_of_the_program_shows_where_it_is_from(
    persia, program, function, cause
):
    command = persia("plan", f"{program}:{function}")
    assert command.wait() == 1
    assert "Traceback" in command.stderr
    assert f'{program}", line' in command.stderr
    assert command.stderr.splitlines()[-1].startswith(cause)


def test_a_module_that_the_program_lacks_shows_who_imports_it(persia, program):
    program.write_text("import no_such_module\n")
    command = persia("plan", f"{program}:make")
    assert command.wait() == 1
    assert "import no_such_module" in command.stderr
