"""Where an example gets its data from."""

import socket
import zipfile

import pytest
from common import locate

FILES = ("a.dat", "b.dat")


@pytest.fixture(autouse=True)
def no_data(monkeypatch):
    monkeypatch.delenv("PERSIA_TF_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def refused_url():
    """A URL with a port of this machine on which no server listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}/set.zip"


@pytest.fixture
def archive_url(tmp_path):
    path = tmp_path / "published.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in FILES:
            archive.writestr(f"set/{name}", f"published {name}")
    return path.as_uri()


def fill(directory, files=FILES):
    directory.mkdir(parents=True)
    for name in files:
        (directory / name).write_text("here")
    return directory


def find(url, tmp_path, data=None):
    source = locate.Source("set", FILES, url)
    cache = tmp_path / "cache"
    cache.mkdir(exist_ok=True)  # Without it, Keras uses another folder.
    return locate.directory(source, data, cache_dir=str(cache))


def test_the_given_directory_comes_before_all_others(
    tmp_path, monkeypatch, archive_url
):
    fill(tmp_path / "root" / "set")
    monkeypatch.setenv("PERSIA_TF_DATA", str(tmp_path / "root"))
    given = fill(tmp_path / "given")
    assert find(archive_url, tmp_path, str(given)) == given


def test_a_given_directory_that_lacks_a_file_is_refused(tmp_path, archive_url):
    given = fill(tmp_path / "given", FILES[:1])
    with pytest.raises(FileNotFoundError, match=r"given lacks b\.dat"):
        find(archive_url, tmp_path, str(given))


def test_the_data_root_comes_before_a_download(tmp_path, monkeypatch, archive_url):
    inside = fill(tmp_path / "root" / "set")
    monkeypatch.setenv("PERSIA_TF_DATA", str(tmp_path / "root"))
    assert find(archive_url, tmp_path) == inside


def test_a_data_root_without_the_set_leads_to_a_download(
    tmp_path, monkeypatch, archive_url
):
    fill(tmp_path / "root" / "set", FILES[:1])
    monkeypatch.setenv("PERSIA_TF_DATA", str(tmp_path / "root"))
    found = find(archive_url, tmp_path)
    assert [(found / name).read_text() for name in FILES] == [
        "published a.dat",
        "published b.dat",
    ]


def test_a_downloaded_set_is_found_again_offline(tmp_path, archive_url, refused_url):
    found = find(archive_url, tmp_path)
    assert find(refused_url, tmp_path) == found


def test_without_a_network_there_is_no_directory_and_the_reason_is_told(
    tmp_path, refused_url, capsys
):
    assert find(refused_url, tmp_path) is None
    assert "set: not downloaded: URL fetch failure" in capsys.readouterr().err


def test_a_truncated_archive_is_not_kept(tmp_path, archive_url):
    broken = tmp_path / "broken.zip"
    broken.write_bytes((tmp_path / "published.zip").read_bytes()[:60])
    assert find(broken.as_uri(), tmp_path) is None
    assert find(archive_url, tmp_path) is not None


def test_a_download_leaves_the_process_s_socket_timeout_alone(tmp_path, archive_url):
    before = socket.getdefaulttimeout()
    find(archive_url, tmp_path)
    assert socket.getdefaulttimeout() == before


def test_without_a_url_nothing_is_downloaded(tmp_path, capsys):
    assert find(None, tmp_path) is None
    assert (
        "not downloaded, since the publisher asks for consent"
        in capsys.readouterr().err
    )


def test_without_a_url_a_directory_that_lacks_a_file_leads_to_the_readme(tmp_path):
    given = fill(tmp_path / "given", FILES[:1])
    with pytest.raises(FileNotFoundError, match="README"):
        find(None, tmp_path, str(given))
