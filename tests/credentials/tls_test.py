"""The files of TLS credentials, and where their paths come from."""

import os
import re
import subprocess
import threading
from pathlib import Path

import pytest

from persia_tf import errors
from persia_tf.credentials import tls
from persia_tf.native import capi

FILES = ("certificate", "key", "ca")


def test_the_environment_is_the_default_of_each(monkeypatch):
    assert tls.of_options() is None
    for name in FILES:
        monkeypatch.setenv(f"PERSIA_TLS_{name.upper()}", f"/of/environment/{name}")
    assert tls.of_options() == tls.TLS(*(f"/of/environment/{name}" for name in FILES))
    assert tls.of_options(key="/mine").key == "/mine"
    assert tls.of_options("", "", "") is None


@pytest.mark.parametrize("missing", FILES)
def test_a_part_of_it_is_an_error_that_says_what_is_missing(missing):
    given = {name: "" if name == missing else "/a/file" for name in FILES}
    with pytest.raises(errors.InvalidArgumentError) as failure:
        tls.of_options(**given)
    for part in (
        "TLS is mutual",
        f"Missing here: {missing}. ",
        f"--tls-{missing}",
        f"$PERSIA_TLS_{missing.upper()}",
    ):
        assert part in str(failure.value)
    with pytest.raises(ValueError, match=f"Missing here: {missing}"):
        tls.TLS(**given)


def test_files_are_read_as_they_are(certificates):
    files = certificates.tls("trainer")
    read = tls.read(files)
    assert read.certificate == Path(files.certificate).read_bytes()
    assert read.key == Path(files.key).read_bytes()
    assert read.ca == Path(files.ca).read_bytes()
    assert read
    assert not tls.read(None)


def test_a_key_is_not_shown(certificates):
    read = tls.read(certificates.tls("trainer"))
    assert "PRIVATE" not in repr(read)


def test_a_key_that_others_may_read_is_refused(certificates, tmp_path):
    files = certificates.tls("trainer")
    key = tmp_path / "key"
    key.write_bytes(Path(files.key).read_bytes())
    for mode in (0o660, 0o604):
        key.chmod(mode)
        message = f"TLS key .* {mode:o}: run .chmod 600 {key}"
        with pytest.raises(ValueError, match=message):
            tls.read(tls.TLS(files.certificate, key, files.ca))


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_not_there_is_named(certificates, tmp_path, name):
    files = {**certificates.tls("trainer").get_config(), name: tmp_path / "absent"}
    with pytest.raises(ValueError, match="absent cannot be read: No such file"):
        tls.read(tls.TLS(**files))


def test_the_commands_of_the_documentation_keep_keys_secret(certificates):
    keys = sorted(certificates.folder.glob("*.key"))
    assert [key.name for key in keys] == ["ca.key", "ps-0.key", "trainer.key"]
    assert all(key.stat().st_mode & 0o077 == 0 for key in keys)


def test_no_symbol_of_openssl_is_exported_or_wanted():
    library = capi.library_dir() / capi.LIBRARY_NAME
    symbols = subprocess.run(
        ["nm", "--dynamic", os.fspath(library)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    names = [line.split()[-1] for line in symbols.splitlines()]
    assert any(name.startswith("persia_") for name in names)
    pattern = re.compile(
        "(SSL|TLS|BIO|EVP|ERR|CRYPTO|OPENSSL|X509|PEM|RSA|EC|BN|ASN1|OSSL)_"
    )
    assert [name for name in names if pattern.match(name)] == []


def test_a_key_of_another_certificate_is_refused_with_both_files(
    certificates, other_certificates
):
    own, other = certificates.tls("trainer"), other_certificates.tls("trainer")
    mixed = tls.TLS(certificate=own.certificate, key=other.key, ca=own.ca)
    with pytest.raises(errors.InvalidArgumentError) as raised:
        tls.read(mixed)
    assert f"TLS key {other.key} is not the key of" in str(raised.value)
    assert own.certificate in str(raised.value)


def test_a_key_of_a_pipe_is_read_once(certificates, tmp_path):
    own = certificates.tls("trainer")
    key = tmp_path / "key"
    os.mkfifo(key, 0o600)
    text = Path(own.key).read_bytes()
    writer = threading.Thread(target=key.write_bytes, args=(text,))
    writer.start()
    assert tls.read(tls.TLS(own.certificate, str(key), own.ca)).key == text
    writer.join()
