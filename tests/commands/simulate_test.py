"""`persia simulate`: the report of a simulated cluster."""

import json

import pytest


def test_examples_are_listed(persia):
    command = persia("simulate", "--list")
    assert command.wait() == 0, command.stderr
    names = [line.split()[0] for line in command.stdout.splitlines()]
    assert {"paper", "this-machine"} <= set(names)


def test_a_report_is_printed_and_written(persia, tmp_path):
    page, written = tmp_path / "page.html", tmp_path / "report.json"
    command = persia(
        *("simulate", "--example=this-machine", "--steps=6", "--shards=3"),
        *(f"--json={written}", f"--html={page}"),
    )
    assert command.wait() == 0, command.stderr
    assert "What breaks first: " in command.stdout
    report = json.loads(written.read_text())
    assert report["steps"] == 6
    assert report["values"]["shards"]["value"] == 3
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_json_on_stdout_is_alone_there(persia):
    command = persia("simulate", "--steps=6", "--json=-")
    assert command.wait() == 0, command.stderr
    assert json.loads(command.stdout)["examples_per_second"] > 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--example=papers"], "--example must be one of paper, this-machine, "),
        (["--shards=0"], "--shards must be at least 1. Received: --shards 0"),
        (["--network=fast"], "--network must be bits or bytes per second, such as "),
        (["--steps=2"], "--steps must be an integer of at least 6, the staleness + 2"),
        (["--plan=nowhere.json"], "--plan must be a file that `persia plan --json "),
        (["--html=nowhere/page.html"], "--html: there is no folder 'nowhere': create"),
    ],
)
def test_what_cannot_be_simulated_is_told_in_one_line(persia, options, told):
    command = persia("simulate", *options)
    assert command.wait() == 2
    [line] = command.stderr.splitlines()
    assert line.startswith(f"persia simulate: {told}")


def test_it_needs_no_tensorflow(persia):
    command = persia(
        *("simulate", "--steps=6", "--json=-"),
        python_options=["-X", "importtime"],
    )
    assert command.wait() == 0
    imported = {line.split("|")[-1].strip() for line in command.stderr.splitlines()}
    assert "numpy" in imported
    assert not imported & {"tensorflow", "keras", "tf_keras"}
