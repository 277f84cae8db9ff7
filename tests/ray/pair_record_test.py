"""What is recorded of a shard's two actors, and of their folders."""

import stat

from persia_tf.ray.pair_record import LogFolder, PairRecord, Serving


def records(tmp_path):
    return [PairRecord(str(tmp_path / "shared" / "ps-0"), side) for side in (0, 1)]


def test_the_first_actor_serves_until_the_other_one_takes_its_place(tmp_path):
    first, second = records(tmp_path)
    assert second.serving() == Serving(0, None, 0)
    second.set_serving(second.serving().taken_by(1, "a:1"))
    assert first.serving() == Serving(1, "a:1", 1)
    first.set_serving(first.serving().taken_by(0, "b:2"))
    assert second.serving() == Serving(0, "b:2", 2)


def test_an_actor_that_was_interrupted_takes_the_place_for_the_same_process():
    taken = Serving(0, None, 4).taken_by(1, "a:1")
    assert taken.taken_by(1, None) == taken


def test_a_place_that_was_not_taken_is_given_back():
    before = Serving(0, "a:1", 4)
    assert before.given_back(1) == before  # It was not taken yet.
    given_back = before.taken_by(1, "b:2").given_back(1)
    # The former shard has the place, and its folder is of the same term.
    assert (given_back.side, given_back.term) == (0, 4)


def test_nodes_are_recorded_of_each_actor(tmp_path):
    first, second = records(tmp_path)
    assert first.node_of(1) is None
    second.set_node("n1")
    first.set_node("n0")
    assert [first.node_of(0), first.node_of(1)] == ["n0", "n1"]


def test_a_folder_of_another_role_or_term_is_not_used(tmp_path):
    folder = LogFolder(tmp_path / "cluster" / "ps-0-1")
    assert not folder.has("standby", 0)
    folder.use("standby", 0, keep=False)
    (folder.path / "log").write_text("rows")
    assert folder.has("standby", 0)
    folder.use("shard", 1, keep=True)
    assert (folder.path / "log").exists()
    assert folder.has("shard", 1)
    assert not folder.has("shard", 0)
    assert not folder.has("standby", 1)
    folder.use("standby", 2, keep=False)
    assert not list(folder.path.iterdir())
    assert stat.S_IMODE(folder.path.parent.stat().st_mode) == 0o700
    folder.remove()
    assert not list(folder.path.parent.iterdir())
