"""Options of standbys, and `persia promote`, without any standby."""

import pytest

STANDBY = "--standby-of=127.0.0.1:1"


@pytest.fixture
def refused(persia):
    """Runs a command that must fail; gives the line that it prints."""

    def run(*args):
        command = persia(*args)
        assert command.wait() == 1
        (line,) = command.stderr.splitlines()
        return line

    return run


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            [STANDBY],
            "--standby-of needs --recovery-folder, from which the shard recovers its "
            "rows. Received: --standby-of 127.0.0.1:1",
        ),
        (
            ["--acknowledge=standby"],
            "--acknowledge needs --recovery-folder, from which the shard recovers its "
            "rows. Received: --acknowledge standby",
        ),
        (
            [STANDBY, "--recovery-folder=r", "--recovery=checkpoint"],
            "--standby-of needs --recovery log, since a standby receives its primary's "
            "log. Received: --standby-of 127.0.0.1:1 --recovery checkpoint",
        ),
        (
            ["--acknowledge=standby", "--recovery-folder=r", "--recovery=checkpoint"],
            "--acknowledge needs --recovery log, since a standby receives its "
            "primary's log. Received: --acknowledge standby --recovery checkpoint",
        ),
        (
            [STANDBY, "--recovery-folder=r", "--replica-of=127.0.0.1:2"],
            "--standby-of cannot be combined with --replica-of: a process is a standby "
            "or a replica. Received: --standby-of 127.0.0.1:1 --replica-of 127.0.0.1:2",
        ),
        (
            ["--standby-address=127.0.0.1:1"],
            "--standby-address needs --standby-of, the shard whose place the process "
            "can take. Received: --standby-address 127.0.0.1:1",
        ),
    ],
)
def test_options_of_ps_that_do_not_fit_are_refused(
    refused, tmp_path, monkeypatch, options, told
):
    monkeypatch.chdir(tmp_path)
    assert refused("ps", "--port=0", *options) == f"persia ps: {told}"


@pytest.mark.parametrize("option", ["--standby-of", "--standby-address"])
def test_an_address_that_is_none_is_refused(persia, option):
    command = persia("ps", f"{option}=nowhere")
    assert command.wait() == 2
    assert f"argument {option}: an address must be host:port" in command.stderr


def test_another_way_to_acknowledge_is_refused(persia):
    command = persia("ps", "--acknowledge=both")
    assert command.wait() == 2
    assert "argument --acknowledge: invalid choice: 'both'" in command.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ["--standbys=1", "--recovery=checkpoint"],
            "--standbys 1 needs --recovery log, since a standby receives its shard's "
            "log. Received: --standbys 1 --recovery checkpoint",
        ),
        (
            ["--acknowledge=standby"],
            "--acknowledge standby needs --standbys 1. Received: --acknowledge standby "
            "--standbys 0",
        ),
    ],
)
def test_options_of_launch_that_do_not_fit_are_refused(refused, options, told):
    line = refused("launch", *options, "--", "true")
    assert line == f"persia launch: {told}"


def test_a_second_standby_is_refused(persia):
    command = persia("launch", "--standbys=2", "--", "true")
    assert command.wait() == 2
    assert "argument --standbys: must be from 0 to 1, got 2" in command.stderr


def test_only_a_standby_is_promoted(start_ps, refused):
    _, shard, _ = start_ps()
    for options in ([], ["--primary-is-gone"]):
        line = refused("promote", shard, *options)
        assert line.startswith("persia promote: ")
        assert shard in line


def test_a_standby_that_does_not_answer_is_told(refused, unused_address):
    line = refused("promote", unused_address, "--timeout=0.5")
    assert unused_address in line


@pytest.mark.parametrize("address", ["nowhere", "a:1,b:2"])
def test_promote_takes_one_address(persia, address):
    command = persia("promote", address)
    assert command.wait() == 2
    assert "argument HOST:PORT: " in command.stderr
