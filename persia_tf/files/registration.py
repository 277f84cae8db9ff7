"""Lets the native core access URLs: see `persia_files` in cc/capi/persia.h."""

from __future__ import annotations

import functools

from persia_tf.files.native_calls import Callbacks
from persia_tf.files.remote import RemoteFiles
from persia_tf.native import capi


def reach_urls(url: str) -> None:
    """Lets the native core of this process access URLs. This call makes no request.

    Args:
        url: One of the URLs that will be used, to check that its library is installed.

    Raises:
        FailedPreconditionError: if the library for the URL is not installed.
        InvalidArgumentError: if no library supports the URL.
    """
    RemoteFiles.shared().check(url)
    _register()


def end_within(seconds: float) -> None:
    """Makes requests to URLs fail unless they are answered within `seconds` from now.

    Call this when the process ends, so that storage that hangs does not delay the exit.
    """
    RemoteFiles.shared().end_within(seconds)


@functools.cache
def _register() -> Callbacks:
    # `functools.cache` keeps the callbacks alive: the core may call them as long as the
    # process lives.
    callbacks = Callbacks(RemoteFiles.shared())
    callbacks.register(capi.library())
    return callbacks
