"""`PairedShard`, with servers and an other actor that the test plays."""

import asyncio
import itertools
import os
import types

import pytest
from harness import wait_until

pytest.importorskip("ray")

from persia_tf import errors  # noqa: E402
from persia_tf.ray import pair  # noqa: E402
from persia_tf.ray.group import Group  # noqa: E402
from persia_tf.ray.pair import PairedShard, PairSettings  # noqa: E402
from persia_tf.ray.pair_record import PairRecord, Serving  # noqa: E402

# An actor of Ray has one event loop, too.
run = asyncio.new_event_loop().run_until_complete


class Away(Exception):
    """What Ray raises of an actor that does not answer."""


class World:
    """What actors meet: servers, the other actor, and Ray.

    Attributes:
        started: Of each start of a server, whose standby it is, or None.
        other: Answers calls of the other actor: gets a method's name.
        refuses: Whether standbys have not all rows.
        nodes: The nodes of Ray that live.
    """

    def __init__(self):
        self.started = []
        self.other = lambda _: None
        self.refuses = False
        self.nodes = ["n0", "n1"]
        self._ports = itertools.count(1)

    def server(self, name, kind, service, hosting, values):
        self.started.append(values["standby_of"])
        port = next(self._ports)
        return types.SimpleNamespace(address=f"own:{port}", stop=lambda seconds: None)

    def promote(self, address, **options):
        if self.refuses:
            raise errors.FailedPreconditionError("not all rows")


@pytest.fixture
def world(monkeypatch):
    played = World()
    monkeypatch.setattr(pair, "start_server", played.server)
    monkeypatch.setattr(pair, "promote", played.promote)
    monkeypatch.setattr(pair, "_NO_ANSWER", (Away,))
    monkeypatch.setattr(pair, "_ERROR_SECONDS", 0.001)
    monkeypatch.setattr(pair, "_RETRY_SECONDS", 0.001)
    monkeypatch.setattr(pair, "_LOST_SECONDS", 0.05)
    formatter = types.SimpleNamespace(place=None)
    monkeypatch.setattr(pair.log, "start", lambda *_: formatter)
    monkeypatch.setattr(PairedShard, "_tell_address", lambda *_: None)
    monkeypatch.setattr(
        PairedShard, "_ask", lambda _, method, *__: played.other(method)
    )
    context = types.SimpleNamespace(get_node_id=lambda: "n1")
    fake = types.SimpleNamespace(
        get_runtime_context=lambda: context,
        nodes=lambda: [{"Alive": True, "NodeID": each} for each in played.nodes],
        util=types.SimpleNamespace(
            list_named_actors=lambda: ["test-ps-0", "test-ps-0-standby"]
        ),
    )
    monkeypatch.setattr(pair, "ray", fake)
    return played


@pytest.fixture
def start(world, tmp_path, monkeypatch):
    """Starts one of the two actors, for the first time or again."""
    started = []

    def actor(side, restarted):
        monkeypatch.setattr(pair, "is_restarted", lambda: restarted)
        hosting = types.SimpleNamespace(
            auth_token=b"token",
            tls=None,
            log_level="info",
        )
        settings = PairSettings(
            *(hosting, str(tmp_path / "saves"), str(tmp_path / "shared"), "50%"),
            *(Group("test", 1), str(tmp_path / "logs"), "self"),
        )
        started.append(PairedShard(0, side, settings))
        return started[-1]

    yield actor
    for each in started:
        run(each.remove_log())


@pytest.fixture
def record(tmp_path):
    return PairRecord(str(tmp_path / "shared" / "ps-0"), 0)


def known_by(actor):
    """Where the shard is, once the actor knows."""
    return run(asyncio.wait_for(actor.address(), 60))


def take_over(actor):
    return run(actor.take_over())


def standby_of(world, start):
    """A standby of a shard at "a:1", whose process goes on to run."""

    def other(method):
        if method == "address" and world.started:
            raise Away
        return "a:1"

    world.other = other
    return start(1, restarted=False)


def test_a_standby_takes_the_place(world, start, record):
    standby = standby_of(world, start)
    assert world.started == ["a:1"]
    assert known_by(standby) == "a:1"
    assert take_over(standby) == "own:1"
    assert known_by(standby) == "own:1"
    assert record.serving() == Serving(1, "a:1", 1)
    assert take_over(standby) == "own:1"


def test_a_standby_without_all_rows_leaves_the_place(world, start, record):
    standby = standby_of(world, start)
    world.refuses = True
    for _ in range(2):
        assert take_over(standby) is None
        assert record.serving().side == 0
    assert known_by(standby) == "a:1"
    world.refuses = False
    assert take_over(standby) == "own:1"


def test_an_earlier_call_that_is_late_does_nothing(world, start, record):
    standby = standby_of(world, start)
    with standby._changing:

        async def ask_twice():
            calls = [asyncio.ensure_future(standby.take_over()) for _ in range(2)]
            await asyncio.sleep(0)
            standby._changing.release()
            return await asyncio.gather(*calls)

        answers = run(ask_twice())
        standby._changing.acquire()
    assert answers == [None, "own:1"]


def test_a_standby_whose_shards_node_is_given_up_takes_the_place(world, start, record):
    standby = standby_of(world, start)
    record.set_node("n0")
    world.nodes = ["n1"]
    wait_until(lambda: record.serving().side == 1, "the promotion")
    wait_until(lambda: run(standby.address()) == "own:1", "the address")


def test_a_shard_that_is_started_again_asks_the_other_one_to_serve(
    world, start, record, tmp_path
):
    start(0, restarted=False)
    rows = tmp_path / "logs" / "test" / "ps-0-0" / "rows"
    rows.write_text("old")
    record.set_serving(record.serving().taken_by(1, "own:1"))
    world.other = {"take_over": "b:2", "address": "b:2"}.__getitem__
    again = start(0, restarted=True)
    assert known_by(again) == "b:2"
    assert world.started == [None, "b:2"]
    assert not rows.exists()


def test_a_shard_goes_on_from_its_own_log_if_the_other_one_has_no_rows(
    world, start, tmp_path
):
    start(0, restarted=False)
    rows = tmp_path / "logs" / "test" / "ps-0-0" / "rows"
    rows.write_text("all")
    again = start(0, restarted=True)
    assert known_by(again) == "own:2"
    assert world.started == [None, None]
    assert rows.exists()


def test_a_shard_without_its_log_says_that_its_rows_are_lost(
    world, start, tmp_path, caplog
):
    start(0, restarted=False)
    os.rename(tmp_path / "logs", tmp_path / "elsewhere")
    again = start(0, restarted=True)
    wait_until(lambda: "shard 0 has lost its rows" in caplog.text, "the error")
    assert world.started == [None]
    os.rename(tmp_path / "elsewhere", tmp_path / "logs")
    assert known_by(again) == "own:2"


def test_a_promotion_that_was_interrupted_is_given_back(world, start, record):
    standby = standby_of(world, start)
    record.set_serving(Serving(0, None, 4))
    standby._folder.use("shard", 5, keep=True)
    record.set_serving(Serving(1, "a:1", 5))
    world.refuses = True
    world.other = lambda _: None
    start(1, restarted=True)
    wait_until(lambda: record.serving() == Serving(0, None, 4), "the other one's turn")


def test_a_copy_goes_on_after_a_restart(world, start, tmp_path):
    standby_of(world, start)
    rows = tmp_path / "logs" / "test" / "ps-0-1" / "rows"
    rows.write_text("copied")
    world.other = lambda _: "a:1"
    again = start(1, restarted=True)
    assert known_by(again) == "a:1"
    assert rows.exists()


def test_a_restart_waits_for_a_shared_folder_that_is_away(
    world, start, tmp_path, caplog
):
    start(0, restarted=False)
    os.rename(tmp_path / "shared", tmp_path / "elsewhere")
    (tmp_path / "shared").write_text("no folder")
    again = start(0, restarted=True)
    wait_until(lambda: "tries again in" in caplog.text, "the error")
    # At once: the actor would make a folder that is not there.
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    os.replace(tmp_path / "link", tmp_path / "shared")
    assert known_by(again) == "own:2"
