"""Makes the native core reach URLs: see `persia_files` in cc/capi/persia.h."""

from __future__ import annotations

import functools

from persia_tf import _native
from persia_tf.files.callbacks import Callbacks
from persia_tf.files.remote import RemoteFiles


def reach_urls(url: str) -> None:
    """Lets the native core of this process reach URLs. Asks nobody yet.

    Args:
        url: One of those that will be used.

    Raises:
        FailedPreconditionError: if its library is not installed.
        InvalidArgumentError: if there is none for such URLs.
    """
    RemoteFiles.shared().check(url)
    _register()


def end_within(seconds: float) -> None:
    """Has every request to a URL fail that has no answer in so many seconds from now.

    For the end of a process, which storage that hangs must not hold up.
    """
    RemoteFiles.shared().end_within(seconds)


@functools.cache
def _register() -> Callbacks:
    # Kept for ever: the core calls them as long as the process lives.
    callbacks = Callbacks(RemoteFiles.shared())
    callbacks.register(_native.library())
    return callbacks
