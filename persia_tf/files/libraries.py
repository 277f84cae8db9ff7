"""Finds the library that accesses a URL: fsspec's file system for its scheme."""

from __future__ import annotations

from typing import Any

from persia_tf import errors

# URL schemes of local files, which are refused: the native core accesses local files
# by their paths, so that it can fsync them.
_LOCAL = {"file", "local"}


def find(url: str) -> Any:
    """Returns fsspec's file system for a URL.

    The file system reads credentials from environment variables or its own files.

    Raises:
        FailedPreconditionError: if the library for the URL is not installed.
        InvalidArgumentError: if no library supports the URL.
    """
    scheme, _, rest = url.partition("://")
    user, at, _ = rest.partition("/")[0].rpartition("@")
    if at and ":" in user:
        raise errors.InvalidArgumentError(
            "a URL must not contain a password: pass it to the storage's library, "
            "through its environment variables or files"
        )
    scheme = scheme.lower()
    if scheme in _LOCAL or "::" in url:
        raise errors.InvalidArgumentError(
            "a URL must name a single remote file system, received "
            f"{url!r}; give folders of this machine as paths, without {scheme}://"
        )
    try:
        import fsspec

        # Skip fsspec's cache of instances. It has an entry per thread, and each
        # request runs in a new thread.
        return fsspec.core.url_to_fs(url, skip_instance_cache=True)[0]
    except ImportError as error:
        raise errors.FailedPreconditionError(
            f"{scheme}:// needs a library that is not installed ({error}). For s3://, "
            "run `pip install 'persia_tf[remote]'`; for other schemes, install the "
            "library that fsspec uses, such as gcsfs for gs://"
        ) from error
    except ValueError as error:
        raise errors.InvalidArgumentError(f"cannot reach {url}: {error}") from error


def path_at(url: str) -> str:
    """Returns what a URL's file system calls the file; see `find`."""
    import fsspec

    return fsspec.core.strip_protocol(url)
