"""Tokens on the command line, and which programs they admit."""

import json
import os
import socket
import sys

import pytest

TOKEN = b"a token of these tests"
NEEDED = {"ps": [], "worker": ["--ps=127.0.0.1:1"]}


@pytest.fixture(params=sorted(NEEDED))
def role(request):
    return request.param


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_other_machines_are_not_listened_to_without_a_token(persia, role, host):
    command = persia(role, *NEEDED[role], "--port=0", f"--host={host}")
    assert command.wait() == 1
    (line,) = command.stderr.splitlines()
    assert line.startswith(f"persia {role}: ")
    for part in (host, "--auth-token-file", "127.0.0.1", "--insecure"):
        assert part in line


def test_other_machines_are_listened_to_with_a_token(start_server, role, token_file):
    token = f"--auth-token-file={token_file(TOKEN)}"
    _, address, control = start_server(role, *NEEDED[role], "--host=0.0.0.0", token)
    assert address.startswith("0.0.0.0:")
    assert control.startswith("0.0.0.0:")


def test_other_machines_are_listened_to_if_it_is_insisted_on(start_server, role):
    options = [*NEEDED[role], "--host=0.0.0.0", "--insecure"]
    command, address, _ = start_server(role, *options)
    command.wait_for(
        f"There is no token and no TLS: every program that reaches {address} can read"
    )


@pytest.mark.parametrize("command", ["ps", "worker", "status", "launch"])
def test_a_token_file_that_others_may_read_ends_it_with_one_line(
    persia, token_file, command
):
    rest = {
        **NEEDED,
        "status": ["127.0.0.1:1"],
        "launch": ["--", "true"],
    }[command]
    path = token_file(TOKEN, mode=0o644)
    process = persia(command, f"--auth-token-file={path}", *rest)
    assert process.wait() == 1
    (line,) = process.stderr.splitlines()
    assert line.startswith(f"persia {command}: ")
    assert f"chmod 600 {path}" in line


def test_status_of_shards_with_a_token_needs_it(persia, start_ps, token_file):
    option = f"--auth-token-file={token_file(TOKEN)}"
    other = f"--auth-token-file={token_file(b'another token of these', 'other')}"
    _, address, _ = start_ps(option)
    for options, message in (
        ([], "this server requires a token"),
        ([other], "the server does not have this client's token"),
    ):
        # The refusal does not wait for the time-out.
        refused = persia("status", *options, "--timeout=600", address)
        assert refused.wait() == 1
        (line,) = refused.stderr.splitlines()
        assert address in line
        assert message in line
    granted = persia("status", option, "--json", address)
    assert granted.wait() == 0, granted.stderr
    (process,) = json.loads(granted.stdout)["processes"]
    assert process["refused_connections"] == 2


def test_the_environment_names_the_token_file(persia, start_ps, token_file):
    path = token_file(TOKEN)
    _, address, _ = start_ps(f"--auth-token-file={path}")
    command = persia("status", address, env={"PERSIA_AUTH_TOKEN_FILE": path})
    assert command.wait() == 0, command.stderr


def test_launch_gives_its_token_to_servers_and_program(persia, token_file):
    ask = f"{sys.executable} -m persia_tf.commands.main status --json $PERSIA_PS"
    path = os.path.relpath(token_file(TOKEN))
    command = persia(
        "launch",
        *("--ps=2", "--embedding-workers=1", f"--auth-token-file={path}"),
        # Asks from another folder, and lastly without the token.
        *("--", "sh", "-c", f"cd / && {ask}; PERSIA_AUTH_TOKEN_FILE= {ask}"),
    )
    assert command.wait() == 1
    processes = json.loads(command.stdout)["processes"]
    assert len(processes) == 3
    assert "this server requires a token" in command.stderr


def test_launch_passes_on_the_environments_token(persia, token_file):
    ask = f"{sys.executable} -m persia_tf.commands.main status --json $PERSIA_PS"
    env = {"PERSIA_AUTH_TOKEN_FILE": token_file(TOKEN)}
    command = persia("launch", "--", "sh", "-c", ask, env=env)
    assert command.wait() == 0, command.stderr


def test_connections_over_the_limit_are_turned_away(persia, start_ps):
    _, address, _ = start_ps("--max-connections=1")
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port))) as first:
        command = persia("status", "--timeout=2", address)
        assert command.wait() == 1
        assert "its limit of 1 connections" in command.stderr
        assert first.fileno() >= 0


def test_a_limit_of_no_connections_is_refused(persia):
    command = persia("ps", "--max-connections=0")
    assert command.wait() == 2
    assert "must be at least 1" in command.stderr
