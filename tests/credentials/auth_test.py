"""The file that holds a cluster's token."""

import errno
import os
import stat

import pytest

from persia_tf import errors
from persia_tf.credentials import auth

TOKEN = b"0123456789abcdef"


@pytest.mark.parametrize(
    ("content", "token"),
    [
        (TOKEN, TOKEN),
        (TOKEN + b"\n", TOKEN),
        (TOKEN + b"\r\n", TOKEN),
        (TOKEN + b" \n", TOKEN + b" "),
        (b"\xff" * 4096 + b"\r\n", b"\xff" * 4096),
    ],
)
def test_a_token_is_the_file_without_its_lines_end(token_file, content, token):
    assert auth.read_token(token_file(content)) == token


def test_no_file_is_no_token():
    assert auth.read_token("") == b""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "from 16 to 4096 bytes, and has 0: .*openssl rand"),
        (TOKEN[:-1] + b"\n", "and has 15: "),
        (b"x" * 4097, "and has more: "),
        (b"x" * 10**6, "and has more: "),
        (TOKEN + b"\n\n", "must be one line"),
        (TOKEN + b"\0", "must be one line"),
    ],
)
def test_what_is_no_token_is_refused_and_not_shown(token_file, content, message):
    path = token_file(content)
    with pytest.raises(errors.InvalidArgumentError, match=message) as failure:
        auth.read_token(path)
    assert path in str(failure.value)
    assert "xxxx" not in str(failure.value)
    assert TOKEN[:8].decode() not in str(failure.value)


@pytest.fixture
def owned_by(monkeypatch):
    """Makes all files that are open in this process appear to belong to a user."""
    real = os.fstat

    def own(user: int) -> None:
        def fstat(descriptor):
            found = list(real(descriptor))
            found[stat.ST_UID] = user
            return os.stat_result(found)

        monkeypatch.setattr(os, "fstat", fstat)

    return own


@pytest.mark.parametrize(
    ("owner", "mode"),
    [(10001, mode) for mode in (0o640, 0o604, 0o620, 0o601, 0o440)]
    + [(0, mode) for mode in (0o660, 0o650, 0o444, 0o604)],
)
def test_a_file_that_too_many_may_access_is_refused(token_file, owned_by, owner, mode):
    path = token_file(TOKEN, mode=mode)
    owned_by(owner)
    message = f"to user {owner} and its mode is {mode:o}: run .chmod 600 {path}"
    with pytest.raises(ValueError, match=message):
        auth.read_token(path)


@pytest.mark.parametrize(
    ("owner", "mode"),
    [(10001, 0o600), (10001, 0o400), (0, 0o600), (0, 0o640), (0, 0o440)],
)
def test_a_file_of_its_owner_or_of_roots_group_is_read(
    token_file, owned_by, owner, mode
):
    path = token_file(TOKEN, mode=mode)
    owned_by(owner)
    assert auth.read_token(path) == TOKEN


def test_a_file_that_this_user_must_not_read_is_described(token_file, monkeypatch):
    path = token_file(TOKEN, mode=0o400)

    def refuse(*_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr("builtins.open", refuse)
    user, file = os.geteuid(), os.stat(path)
    message = (
        f"cannot be read: Permission denied to user {user}: the file belongs to user "
        f"{file.st_uid} and group {file.st_gid}, and its mode is 400"
    )
    with pytest.raises(ValueError, match=message):
        auth.read_token(path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ValueError, match="absent cannot be read: No such file"):
        auth.read_token(str(tmp_path / "absent"))


def test_a_folder_is_no_token(tmp_path):
    tmp_path.chmod(0o700)
    with pytest.raises(ValueError, match="cannot be read: Is a directory"):
        auth.read_token(str(tmp_path))


def test_the_environment_is_the_default(monkeypatch, tmp_path):
    assert auth.token_file(None) == ""
    monkeypatch.setenv("PERSIA_AUTH_TOKEN_FILE", "/from/environment")
    assert auth.token_file(None) == "/from/environment"
    assert auth.token_file(tmp_path) == str(tmp_path)
    assert auth.token_file("") == ""
