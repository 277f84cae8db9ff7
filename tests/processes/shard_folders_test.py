"""Which of two recovery folders has a shard's rows, over several launches."""

from pathlib import Path

import pytest

from persia_tf import errors
from persia_tf.base.addresses import Address
from persia_tf.processes import shard_folders
from persia_tf.processes.shard_folders import ShardFolders

PRIMARY = Address("127.0.0.1", 7000)


@pytest.fixture
def folders(tmp_path):
    """The folders of shard 1, each with a file."""
    found = ShardFolders(tmp_path, 1)
    for folder in (found.serving, found.spare):
        Path(folder).mkdir()
        Path(folder, "log").touch()
    return found


def test_at_first_the_shards_own_folder_serves(folders, tmp_path):
    assert folders.serving == str(tmp_path / "ps-1")
    assert folders.spare == str(tmp_path / "ps-1b")
    assert folders.former_primary is None
    assert shard_folders.serving(tmp_path, 1) == folders.serving


@pytest.mark.parametrize("root", [None, ""])
def test_without_a_root_there_is_no_folder(root):
    assert shard_folders.serving(root, 0) is None


def test_a_promotion_that_ended_swaps_them_and_empties_the_former(folders, tmp_path):
    folders.begin_promotion(PRIMARY)
    folders.end_promotion()
    for each in (folders, ShardFolders(tmp_path, 1)):
        assert each.serving == str(tmp_path / "ps-1b")
        assert each.spare == str(tmp_path / "ps-1")
        assert each.former_primary is None
    assert list(Path(folders.spare).iterdir()) == []
    assert Path(folders.serving, "log").exists()


def test_the_next_launch_knows_a_promotion_that_did_not_end(folders, tmp_path):
    folders.begin_promotion(PRIMARY)
    found = ShardFolders(tmp_path, 1)
    assert found.former_primary == PRIMARY
    assert found.serving == str(tmp_path / "ps-1b")
    assert Path(found.spare, "log").exists()


def test_a_promotion_that_was_refused_changes_nothing(folders, tmp_path):
    folders.begin_promotion(PRIMARY)
    folders.undo_promotion()
    for each in (folders, ShardFolders(tmp_path, 1)):
        assert each.serving == str(tmp_path / "ps-1")
        assert each.former_primary is None
    assert Path(folders.spare, "log").exists()


def test_the_second_promotion_swaps_them_back(folders, tmp_path):
    for _ in range(2):
        folders.begin_promotion(PRIMARY)
        folders.end_promotion()
    assert ShardFolders(tmp_path, 1).serving == str(tmp_path / "ps-1")


def test_shards_have_folders_of_their_own(folders, tmp_path):
    folders.begin_promotion(PRIMARY)
    assert ShardFolders(tmp_path, 0).serving == str(tmp_path / "ps-0")


@pytest.mark.parametrize("text", ["", "ps-2\n", "ps-1 a:1 b:2\n"])
def test_a_file_that_names_no_folder_is_refused(tmp_path, text):
    (tmp_path / "ps-1.serving").write_text(text)
    with pytest.raises(errors.InvalidArgumentError, match="ps-1 or ps-1b. Received"):
        ShardFolders(tmp_path, 1)
