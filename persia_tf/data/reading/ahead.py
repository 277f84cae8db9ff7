"""Runs an iterator ahead of those that use it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable


def one_ahead(make: Callable[[threading.Event], Iterator[Any]]) -> Iterator[Any]:
    """Yields what an iterator yields; its next element is made meanwhile.

    Closing it waits for the iterator, which should look at the event.

    Args:
        make: Returns the iterator, given an event that is set once no one wants more.
    """
    is_over = threading.Event()
    end = object()
    iterator = make(is_over)
    with ThreadPoolExecutor(1, "persia_ahead") as pool:
        following = pool.submit(next, iterator, end)
        try:
            while True:
                element = following.result()
                if element is end:
                    return
                # The pool's thread would keep the element until the next one is made.
                following = pool.submit(next, iterator, end)
                yield element
                del element
        finally:
            is_over.set()
