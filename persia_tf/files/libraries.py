"""The libraries that access URLs: fsspec, and its file systems for each scheme."""

from __future__ import annotations

from typing import Any

from persia_tf import errors

# This machine's files, which the native core accesses itself, with fsync.
_LOCAL = {"file", "local"}


def find(url: str) -> Any:
    """Returns fsspec's file system for a URL; it gets credentials from the environment.

    Raises:
        FailedPreconditionError: if the library for the URL is not installed.
        InvalidArgumentError: if no library supports the URL.
    """
    scheme, _, rest = url.partition("://")
    user, at, _ = rest.partition("/")[0].rpartition("@")
    if at and ":" in user:
        raise errors.InvalidArgumentError(
            "a URL must hold no password: give it as the storage's library takes it, "
            "by its environment variables or files"
        )
    scheme = scheme.lower()
    if scheme in _LOCAL or "::" in url:
        raise errors.InvalidArgumentError(
            "a URL must name one file system of another machine, received "
            f"{url!r}; name folders of this machine without {scheme}://"
        )
    try:
        import fsspec

        # fsspec's own cache would keep an instance for each thread.
        return fsspec.core.url_to_fs(url, skip_instance_cache=True)[0]
    except ImportError as error:
        raise errors.FailedPreconditionError(
            f"{scheme}:// needs a library that is not installed ({error}): `pip "
            "install 'persia_tf[remote]'` brings that of s3://; others are fsspec's, "
            "such as gcsfs for gs://"
        ) from error
    except ValueError as error:
        raise errors.InvalidArgumentError(f"cannot reach {url}: {error}") from error
