"""The parts of `ptf.ray` that need no Ray."""

import os
import sys
import threading

import numpy as np
import pytest

from persia_tf import errors
from persia_tf.ray import losses, programs, recovery_folders, shared_root, token_files


def test_each_start_gets_a_copy_of_the_last_folder(tmp_path):
    shard = str(tmp_path / "ps-0")
    first = recovery_folders.next_folder(shard)
    assert os.listdir(first) == []
    (tmp_path / "ps-0" / "1" / "log").write_text("tables")
    second = recovery_folders.next_folder(shard)
    assert first != second
    # The first process may still run, on a node that Ray gave up.
    (tmp_path / "ps-0" / "1" / "log").write_text("other")
    third = recovery_folders.next_folder(shard)
    assert (tmp_path / "ps-0" / "3" / "log").read_text() == "tables"
    assert third == str(tmp_path / "ps-0" / "3")


def test_a_copy_that_was_interrupted_is_not_used(tmp_path):
    shard = tmp_path / "ps-0"
    recovery_folders.next_folder(str(shard))
    (shard / "copy-torn").mkdir()
    assert recovery_folders.next_folder(str(shard)) == str(shard / "2")


def test_old_folders_are_removed_once_a_start_has_succeeded(tmp_path):
    for _ in range(20):
        made = recovery_folders.next_folder(str(tmp_path))
    assert len(os.listdir(tmp_path)) == 20
    recovery_folders.remove_older(made)
    assert sorted(map(int, os.listdir(tmp_path))) == [18, 19, 20]


def test_only_the_newest_place_of_a_shard_is_asked_what_it_lost(monkeypatch):
    asked, both = [], threading.Event()

    def fetch(address):
        asked.append(address)
        if "c" in asked and asked.count("b") > 1:
            both.set()
        return {"b": 7, "c": 3}[address]

    monkeypatch.setattr(losses, "_LOOK_SECONDS", 0.001)
    counted = losses.Losses(fetch)
    # As if it was restarted twice before anyone looked.
    with counted._lock:
        counted._losses += [losses.Loss(0, "a"), losses.Loss(0, "b")]
    counted.add(1, "c")
    assert both.wait(60)
    counted.stop()
    assert counted.all() == [
        losses.Loss(0, "a"),
        losses.Loss(0, "b", 7),
        losses.Loss(1, "c", 3),
    ]


def test_a_token_has_one_file_that_only_the_user_reads():
    with token_files.token_file(b"secret") as path:
        assert os.stat(path).st_mode & 0o777 == 0o600
        with token_files.token_file(b"secret") as again:
            assert again == path
        with open(path, "rb") as file:
            assert file.read() == b"secret"
    assert not os.path.exists(path)


def test_a_root_that_nodes_do_not_share_is_refused(tmp_path):
    (tmp_path / "a").mkdir()
    mark = shared_root.leave_mark(str(tmp_path / "a"))
    seen = [shared_root.sees_mark(str(tmp_path / each), mark) for each in "ab"]
    with pytest.raises(errors.FailedPreconditionError) as raised:
        shared_root.check(
            "/checkpoints", ["shard 0 on 10.0.0.1", "shard 1 on 10.0.0.2"], seen
        )
    message = str(raised.value)
    assert message.startswith("`checkpoint_root` (or `recovery_root`")
    assert "must be one folder that all nodes share" in message
    assert "shard 1 on 10.0.0.2 does not see the file that shard 0 on" in message


def test_a_root_that_nodes_share_is_accepted_and_left_as_it_was(tmp_path):
    mark = shared_root.leave_mark(str(tmp_path))
    assert shared_root.sees_mark(str(tmp_path), mark)
    shared_root.check(str(tmp_path), ["shard 0 on a", "shard 1 on b"], [True, True])
    shared_root.remove_mark(str(tmp_path), mark)
    assert os.listdir(tmp_path) == []


PROGRAM = """
import sys
from beside import SIBLING
assert __name__ == "__main__"
with open(sys.argv[1], "w") as file:
    file.write(f"{sys.argv[0]} {sys.argv[2:]} {SIBLING}")
sys.exit(int(sys.argv[2]))
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """The path of a program, which imports a module beside it."""
    monkeypatch.delitem(sys.modules, "beside", raising=False)
    (tmp_path / "beside.py").write_text("SIBLING = 42")
    (tmp_path / "train.py").write_text(PROGRAM)
    yield str(tmp_path / "train.py")
    sys.modules.pop("beside", None)


def test_a_program_runs_as_python_would_run_it(program, tmp_path):
    argv, path = list(sys.argv), list(sys.path)
    programs.run("train.py", str(tmp_path), [str(tmp_path / "told"), "0", "x"])
    assert (tmp_path / "told").read_text() == f"{program} ['0', 'x'] 42"
    assert (sys.argv, sys.path) == (argv, path)


def test_a_program_is_found_in_the_working_folder_of_ray(
    program, tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(tmp_path)
    programs.run("train.py", "/of/the/driver", [str(tmp_path / "told"), "0"])
    assert (tmp_path / "told").exists()


def test_a_program_that_fails_raises(program, tmp_path):
    with pytest.raises(RuntimeError, match="train.py ended with exit code 3"):
        programs.run(program, "/", [str(tmp_path / "told"), "3"])


def test_a_program_that_a_node_lacks_is_an_error():
    with pytest.raises(errors.NotFoundError, match="no_such.py on this node.*Ray copy"):
        programs.run("no_such.py", "/of/the/driver", [])


def test_numbers_and_paths_are_arguments_of_a_program(tmp_path):
    given = ["--epochs", 3, 0.5, tmp_path, np.int64(7)]
    expected = ["--epochs", "3", "0.5", str(tmp_path), "7"]
    assert [programs.argument(each) for each in given] == expected


@pytest.mark.parametrize("value", [None, True, b"x", ["--epochs", "3"]])
def test_another_argument_of_a_program_is_refused(value):
    with pytest.raises(TypeError, match="arguments must be strings, numbers or paths"):
        programs.argument(value)


def test_a_root_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    for root in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(errors.InvalidArgumentError) as raised:
            shared_root.check_is_no_file("checkpoint_root", str(root))
        assert str(raised.value).startswith("`checkpoint_root` must be a folder")
        assert f"{tmp_path / 'file'} is a file" in str(raised.value)
    for root in (str(tmp_path), str(tmp_path / "new" / "folder"), "s3://bucket/a"):
        shared_root.check_is_no_file("checkpoint_root", root)
