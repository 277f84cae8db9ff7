"""The `persia` command line."""

import pytest

from persia_tf import _version


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ([], "COMMAND"),
        (["frobnicate"], "frobnicate"),
        (["status"], "HOST:PORT"),
        (["status", "nowhere"], "host:port"),
        (["status", "a:1", "--", "b:2"], "takes no --"),
        (["ps", "--frob"], "--frob"),
        (["worker"], "--ps"),
        (["worker", "--ps=nowhere"], "host:port"),
        (["worker", "--ps=a:1", "--cache-rows=-1"], "at least 0, got -1"),
        (["launch", "--embedding-workers=-1", "--", "true"], "at least 0, got -1"),
        (["launch"], "launch [options] -- PROGRAM"),
        (["launch", "--"], "launch [options] -- PROGRAM"),
        (["launch", "python", "train.py", "--epochs"], "launch [options] -- PROGRAM"),
        (["launch", "--ps=0", "--", "true"], "at least 1, got 0"),
    ],
)
def test_a_wrong_command_line_is_explained(persia, args, told):
    command = persia(*args)
    assert command.wait() == 2
    assert told in command.stderr
    assert "Traceback" not in command.stderr


@pytest.mark.parametrize("args", [[], ["ps"], ["worker"], ["status"], ["launch"]])
def test_help_goes_to_stdout(persia, args):
    command = persia(*args, "--help")
    assert command.wait() == 0
    assert command.stdout.startswith("usage: persia")
    assert command.stderr == ""


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
