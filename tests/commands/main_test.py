"""The `persia` command line."""

import argparse
import os
import re
import subprocess
import sys

import pytest

from persia_tf import _version
from persia_tf.commands import main


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ([], "COMMAND"),
        (["frobnicate"], "frobnicate"),
        (["status"], "no shards are given: give HOST:PORT,..., or set $PERSIA_PS"),
        (["status", "nowhere"], "host:port"),
        (["status", "a:1", "--", "b:2"], "takes neither --"),
        (["ps", "--frob"], "persia ps: error: unknown arguments: --frob\n"),
        (["ps", "--prt", "7000"], "arguments: --prt 7000; did you mean --port?"),
        (["ps", "--prt=7000"], "arguments: --prt=7000; did you mean --port?"),
        (["ps", "--prt=7000"], "usage: persia ps "),
        (["table", "ls", "a:1", "--jsn"], "persia table ls: error: unknown arguments"),
        (["table", "ls", "a:1", "--jsn"], "did you mean --json?"),
        (["table", "--json", "ls", "a:1"], "; give --json after persia table ls"),
        (["status", "a:1", "b:2"], "persia status: error: unknown arguments: b:2\n"),
        (["worker"], "argument --ps: no shards are given"),
        (["data"], "ACTION"),
        (
            ["data", "worker"],
            "argument --dispatcher: no dispatcher is given: give HOST",
        ),
        (["data", "worker", "--dispatcher=a:1,b:2"], "must be one HOST:PORT, got"),
        (["launch", "--data-workers=-1", "--", "true"], "at least 0, got -1"),
        (["checkpoint", "save", "run"], "argument --ps: no shards are given"),
        (["checkpoint", "save"], "PATH"),
        (["checkpoint", "save", "run", "--ps=a:1", "--max-to-keep=0"], "at least 1"),
        (["checkpoint", "save", "run", "--ps=a:1", "--max-to-keep=some"], "'some'"),
        (["worker", "--ps=nowhere"], "host:port"),
        (["worker", "--ps=a:1,b:2, a:1"], "argument --ps: must name each shard once"),
        (["table", "drop", "a:1", "t", "--timeout=-1"], "--timeout: must be above 0"),
        (["table", "ls", "a:1", "--timeout=0"], "--timeout: must be above 0"),
        (["status", "a:1", "--timeout=inf"], "--timeout: must be above 0 and at most"),
        (["checkpoint", "save", "p", "--ps=a:1", "--timeout=0"], "must be above 0"),
        (["launch", "--start-timeout=0", "--", "true"], "must be above 0"),
        (["worker", "--ps=a:1", "--cache-rows=-1"], "at least 0, got -1"),
        (["launch", "--embedding-workers=-1", "--", "true"], "at least 0, got -1"),
        (["launch"], "launch [options] -- PROGRAM"),
        (["launch", "--"], "launch [options] -- PROGRAM"),
        (["launch", "python", "train.py", "--epochs"], "launch [options] -- PROGRAM"),
        (["launch", "--ps=0", "--", "true"], "at least 1, got 0"),
        (["plan"], "FILE.py:FUNCTION"),
        (["plan", "train.py"], "must be FILE.py:FUNCTION or MODULE:FUNCTION"),
        (["plan", "train.py:make", "--steps=0"], "--steps: must be at least 1, got 0"),
        (
            ["plan", "train.py:make", "--shards=2,x"],
            "argument --shards: must be integers with commas",
        ),
    ],
)
def test_a_wrong_command_line_is_explained(persia, args, told):
    command = persia(*args)
    assert command.wait() == 2
    assert told in command.stderr
    assert "Traceback" not in command.stderr


@pytest.mark.parametrize("args", [["status"], ["worker"], ["checkpoint", "save", "p"]])
def test_shards_of_the_environment_that_do_not_parse_are_told(persia, args):
    command = persia(*args, env={"PERSIA_PS": "a:1,nowhere"})
    assert command.wait() == 2
    assert "$PERSIA_PS: an address must be host:port" in command.stderr


def test_a_dispatcher_of_the_environment_that_does_not_parse_is_told(persia):
    command = persia("data", "worker", env={"PERSIA_DATA": "nowhere"})
    assert command.wait() == 2
    assert "$PERSIA_DATA: an address must be host:port" in command.stderr


def test_shards_of_the_environment_that_are_named_twice_are_told(persia):
    command = persia("worker", env={"PERSIA_PS": "a:1,a:1"})
    assert command.wait() == 2
    assert "argument --ps: $PERSIA_PS: must name each shard once" in command.stderr


HELP_PAGES = [
    *([], ["ps"], ["worker"], ["serve"], ["status"], ["top"], ["launch"], ["reshard"]),
    *(["promote"], ["plan"], ["simulate"]),
    *(["kubernetes"], ["kubernetes", "reshard"], ["kubernetes", "leave"]),
    *(["data"], ["data", "dispatcher"], ["data", "worker"]),
    *(["checkpoint"],),
    *(["checkpoint", "save"], ["checkpoint", "restore"], ["checkpoint", "ls"]),
    *(["checkpoint", "verify"], ["checkpoint", "compact"]),
    *(["table"], ["table", "ls"], ["table", "show"], ["table", "drop"]),
]


@pytest.fixture(scope="module")
def parsers():
    """Each command's parser, by the words of the command."""
    found = {}

    def add(words, parser):
        found[words] = parser
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for name, command in action.choices.items():
                    add((*words, name), command)

    add((), main.parser())
    return found


def test_every_help_page_is_looked_at(parsers):
    assert set(parsers) == set(map(tuple, HELP_PAGES))


@pytest.mark.parametrize("args", HELP_PAGES)
def test_help_fits_a_terminal_and_ends_with_examples(parsers, args):
    page = parsers[tuple(args)].format_help()
    assert page.startswith("usage: persia")
    assert [line for line in page.splitlines() if len(line) > 80] == []
    assert "--helpfull" not in page
    begin = " ".join(["  persia", *args])
    examples = page.partition("\nexamples:\n")[2].splitlines()
    assert [line for line in examples if line.startswith(begin)] != []
    # Each example is on a line of its own.
    assert all(line.startswith("  ") and line.count("persia ") < 2 for line in examples)


@pytest.mark.parametrize("args", HELP_PAGES)
def test_help_names_what_an_option_takes_in_one_word(parsers, args):
    # argparse names it by the whole option: --control-port CONTROL_PORT.
    assert re.findall(r"--\S+ [A-Z]+_[A-Z_]+", parsers[tuple(args)].format_help()) == []


@pytest.mark.parametrize("args", [[], ["launch"], ["checkpoint", "save"]])
def test_help_goes_to_stdout(persia, args):
    command = persia(*args, "--help")
    assert command.wait() == 0
    assert command.stdout.startswith("usage: persia")
    assert command.stderr == ""


def test_python_runs_the_package_as_the_command(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-m", "persia_tf", "status"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("usage: persia status")


def test_version_is_the_packages(persia):
    command = persia("--version")
    assert command.wait() == 0
    assert command.stdout.strip() == _version.__version__


@pytest.mark.parametrize("args", [["status", "--help"], ["launch", "--", "true"]])
def test_commands_import_neither_tensorflow_nor_grpc(persia, args):
    command = persia(*args, python_options=["-X", "importtime"])
    assert command.wait() == 0
    imported = {
        line.rpartition("|")[2].strip()
        for line in command.stderr.splitlines()
        if line.startswith("import time:")
    }
    assert "persia_tf.commands.launch" in imported
    assert not imported & {"tensorflow", "grpc"}


def test_a_missing_native_library_is_explained_in_one_line(persia, tmp_path):
    command = persia("ps", env={"PERSIA_LIBRARY_DIR": str(tmp_path)})
    assert command.wait() == 1
    (line,) = command.stderr.splitlines()
    assert line.startswith("persia ps: persia_tf's native library is missing")
    assert str(tmp_path / "libpersia.so") in line
