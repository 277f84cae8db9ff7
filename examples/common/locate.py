"""Finds a data set's directory, or downloads it."""

import os
import pathlib
import socket
import sys
import zipfile
from collections.abc import Sequence
from typing import NamedTuple, Optional

# The time-out of each connection and read. A download is attempted only once, so
# that a machine without a network soon continues with the generated sample.
_TIMEOUT_SECONDS = 5.0


class Source(NamedTuple):
    """Where a data set comes from, and the files that it consists of.

    Args:
        name: the folder's name under `$PERSIA_TF_DATA` and in Keras's cache.
        files: the files to read, with the publisher's names.
        url: the publisher's zip archive; None if it is only available with the
            publisher's consent: then nothing is downloaded.
        md5: the archive's checksum, if the publisher states one.
    """

    name: str
    files: Sequence[str]
    url: Optional[str]
    md5: Optional[str] = None


def directory(
    source: Source,
    data: Optional[str] = None,
    cache_dir: Optional[str] = None,
) -> Optional[pathlib.Path]:
    """Returns the directory that holds the source's files.

    It is the first of these that has the files: `data`, `$PERSIA_TF_DATA/<name>`,
    and, if the source has a `url`, Keras's cache and the publisher's archive.

    Args:
        source: the data set.
        data: a directory that must hold the files; if given, no other is tried.
        cache_dir: replaces Keras's own cache directory (`~/.keras`).

    Returns:
        The directory. If there is none and the archive cannot be downloaded, prints the
        reason to stderr and returns None.

    Raises:
        FileNotFoundError: if `data` is given and lacks a file.
    """
    if data is not None:
        _require(pathlib.Path(data), source)
        return pathlib.Path(data)
    root = os.environ.get("PERSIA_TF_DATA")
    if root and _holds(pathlib.Path(root) / source.name, source):
        return pathlib.Path(root) / source.name
    if source.url is None:
        print(
            f"{source.name}: not downloaded, since the publisher asks for consent",
            file=sys.stderr,
        )
        return None
    try:
        return _download(source, cache_dir)
    except Exception as error:  # Keras raises a bare Exception when offline.
        print(f"{source.name}: not downloaded: {error}", file=sys.stderr)
        return None


def _holds(path: pathlib.Path, source: Source) -> bool:
    return all((path / name).is_file() for name in source.files)


def _require(path: pathlib.Path, source: Source) -> None:
    missing = [name for name in source.files if not (path / name).is_file()]
    if missing:
        way = (
            f"Unpack {source.url} there, or leave --data out to download it."
            if source.url
            else "The example's README says where to get them."
        )
        raise FileNotFoundError(
            f"--data must name a directory with {', '.join(source.files)}; "
            f"{path} lacks {', '.join(missing)}. {way}"
        )


def _download(source: Source, cache_dir: Optional[str]) -> pathlib.Path:
    import tensorflow as tf

    timeout = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_TIMEOUT_SECONDS)
    try:
        archive = pathlib.Path(
            tf.keras.utils.get_file(
                f"{source.name}.zip",
                source.url,
                file_hash=source.md5,
                cache_dir=cache_dir,
            )
        )
    finally:
        socket.setdefaulttimeout(timeout)
    target = archive.with_suffix("")
    if not _holds(target, source):
        try:
            _extract(archive, target, source)
        except (zipfile.BadZipFile, KeyError):
            archive.unlink()  # Otherwise every later run would get it from the cache.
            raise
    return target


def _extract(archive: pathlib.Path, target: pathlib.Path, source: Source) -> None:
    target.mkdir(exist_ok=True)
    with zipfile.ZipFile(archive) as members:
        paths = {pathlib.PurePosixPath(m).name: m for m in members.namelist()}
        for name in source.files:
            # Renamed once complete, so that an interrupted run leaves no partial
            # file that the next run would use.
            part = target / f"{name}.part"
            part.write_bytes(members.read(paths[name]))
            part.replace(target / name)
