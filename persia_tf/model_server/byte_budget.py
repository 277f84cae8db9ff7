"""A limit on the memory that all requests together take."""

from __future__ import annotations

import threading

from persia_tf import errors
from persia_tf.model_server import codes


class ByteBudget:
    """A budget of bytes that all requests share. Thread-safe.

    Args:
        most: The size of the budget, in bytes.
        option: The name of the option that sets the size, for error messages.
    """

    def __init__(self, most: int, option: str) -> None:
        self._most = most
        self._option = option
        self._lock = threading.Lock()
        self._taken = 0

    @property
    def taken(self) -> int:
        """How many bytes of the budget are in use now."""
        return self._taken

    def share(self, free: int = 0) -> Share:
        """Returns a new share of the budget for one request; it has no bytes yet.

        Args:
            free: How many bytes the share may take before it charges the budget.
        """
        return Share(self, free)

    def _take(self, count: int) -> None:
        with self._lock:
            if self._taken + count > self._most:
                raise errors.PersiaError(
                    f"requests that are being read use {self._taken} bytes, and this "
                    f"one needs {count} more, but their limit is {self._most}: "
                    f"try again, send fewer examples at once, or raise {self._option}",
                    codes.RESOURCE_EXHAUSTED,
                )
            self._taken += count

    def _give_back(self, count: int) -> None:
        with self._lock:
            self._taken -= count


class Share:
    """The bytes of a budget that one request uses, until the `with` block ends.

    Not thread-safe: use it on one thread at a time.
    """

    def __init__(self, budget: ByteBudget, free: int) -> None:
        self._budget = budget
        self._own = free
        self._free = free
        self._taken = 0

    def __enter__(self) -> Share:
        return self

    def __exit__(self, *error: object) -> None:
        self.give_back()

    def give_back(self) -> None:
        """Returns all bytes of this share to the budget."""
        self._budget._give_back(self._taken)
        self._taken = 0
        self._free = self._own

    def take(self, count: int) -> None:
        """Adds bytes to this share: first its free bytes, then bytes of the budget.

        Raises:
            PersiaError: With the code RESOURCE_EXHAUSTED, if the budget has too few
                bytes left. The share is then unchanged.
        """
        of_budget = max(0, count - self._free)
        self._budget._take(of_budget)
        self._free -= count - of_budget
        self._taken += of_budget
