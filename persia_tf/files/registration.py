"""Lets the native core access URLs: see `persia_files` in cc/capi/persia.h."""

from __future__ import annotations

import functools

from persia_tf import _native
from persia_tf.files.callbacks import Callbacks
from persia_tf.files.remote import RemoteFiles


def reach_urls(url: str) -> None:
    """Lets the native core of this process access URLs. Makes no request itself.

    Args:
        url: One of the URLs that will be used.

    Raises:
        FailedPreconditionError: if the library for the URL is not installed.
        InvalidArgumentError: if no library supports the URL.
    """
    RemoteFiles.shared().check(url)
    _register()


def end_within(seconds: float) -> None:
    """Makes all requests to URLs fail that are not answered within `seconds` from now.

    For the end of a process, which must not be delayed by storage that hangs.
    """
    RemoteFiles.shared().end_within(seconds)


@functools.cache
def _register() -> Callbacks:
    # The cache keeps it alive: the core may call it as long as the process lives.
    callbacks = Callbacks(RemoteFiles.shared())
    callbacks.register(_native.library())
    return callbacks
