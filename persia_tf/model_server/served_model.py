"""A served model, which loads and unloads versions as their folders come and go."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Optional, Protocol

from persia_tf import errors
from persia_tf.model_server import codes, versions
from persia_tf.model_server.loading import Loaded, load
from persia_tf.model_server.metrics import Metrics

# After this time, a version that failed to load is tried again although its files are
# unchanged: its shards may have been down, or memory may have been short.
_RETRY_SECONDS = 60.0

_logger = logging.getLogger("persia.serve")


class Watcher(Protocol):
    """Gets notified when versions start and stop serving; calls do not overlap.

    A watcher may also have a method `stopping()`. It is called once, from any thread,
    even during another call, once no further version will start to serve. A `started`
    call that is still waiting should then return.
    """

    def started(self, loaded: Loaded) -> None:
        """Called after a version is loaded and warmed up, before its first request.

        If this method raises, the version does not serve.
        """

    def ended(self, loaded: Loaded) -> None:
        """Called after the last request of a version for which `started` returned."""


@dataclasses.dataclass(frozen=True)
class VersionState:
    """The state of a version.

    Attributes:
        version: The version's number.
        state: TensorFlow Serving's name for the state: "LOADING", "AVAILABLE",
            "UNLOADING" or "END".
        error: Why the version failed to load; None if it did not fail.
    """

    version: int
    state: str
    error: Optional[errors.PersiaError] = None  # noqa: UP045


class _StoppingError(Exception):
    """Raised to abandon a version that was loading when `stop_loading` was called."""


class ServedModel:
    """The versions of a model: loads the newest versions, and unloads unused ones.

    A version that fails to load is skipped, so that older versions continue to serve;
    loading is retried when the version's files change, or after a minute. A version
    whose folder was removed, or that newer versions replace, is unloaded after its last
    request. Thread-safe. Only `poll` and `close` load and unload versions; these calls
    block meanwhile.

    Args:
        name: The model's name.
        folder: The folder of its versions: see `versions.find`.
        keep: How many of the newest versions serve. None: all.
        watchers: Notified of versions that start and stop serving.
        metrics: Counts loads and versions that serve.
        tell_serving: Called with whether any version serves, whenever this may have
            changed.
    """

    def __init__(
        self,
        name: str,
        folder: str,
        keep: int | None = 1,
        watchers: Sequence[Watcher] = (),
        metrics: Metrics | None = None,
        tell_serving: Callable[[bool], None] = lambda _: None,
    ) -> None:
        self.name = name
        self._folder = folder
        self._keep = keep
        self._watchers = watchers
        self._metrics = metrics or Metrics()
        self._tell_serving = tell_serving
        self._polling = threading.Lock()
        self._changed = threading.Condition()
        self._serving: dict[int, _Serving] = {}
        self._retired: list[_Serving] = []
        self._failures: dict[int, _Failure] = {}
        self._states: dict[int, VersionState] = {}
        self._stopping = False
        # The time by which `close` must unload all versions, on `time.monotonic()`'s
        # clock; None until `close` is called.
        self._end_by: float | None = None

    @property
    def is_serving(self) -> bool:
        """Whether any version of the model serves."""
        with self._changed:
            return bool(self._serving)

    def states(self, version: int | None = None) -> list[VersionState]:
        """Returns the states of versions, the newest first.

        Args:
            version: The number of the version whose state to return. None: all.

        Raises:
            NotFoundError: If the model lacks the version, or has no version yet.
        """
        with self._changed:
            told = [
                self._states[each]
                for each in sorted(self._states, reverse=True)
                if version in (None, each)
            ]
        if not told:
            wanted = "version yet" if version is None else f"version {version}"
            raise errors.NotFoundError(f"model {self.name!r} has no {wanted}")
        return told

    @contextlib.contextmanager
    def lease(self, version: int | None = None) -> Iterator[Loaded]:
        """Leases a version, which is not unloaded before the `with` block ends.

        Args:
            version: The version's number. None: the newest version that serves.

        Raises:
            NotFoundError: If the version does not serve.
            UnavailableError: If `version` is None and no version serves.
        """
        with self._changed:
            serving = self._find(version)
            serving.leases += 1
        try:
            yield serving.loaded
        finally:
            with self._changed:
                serving.leases -= 1
                self._changed.notify_all()

    def poll(self) -> None:
        """Looks for versions in the model's folder; loads new ones and unloads others.

        Changes nothing if the folder cannot be listed, or after `stop_loading`.
        """
        try:
            with self._polling:
                if not self._stopping:
                    self._look()
        finally:
            # A concurrent `close` sets `_end_by` before it tries to get the lock. This
            # thread reads `_end_by` after it has released the lock. So either `close`
            # gets the lock and unloads the versions, or this thread unloads them.
            if self._end_by is not None:
                self._end_all(self._end_by)

    def stop_loading(self) -> None:
        """Stops loading versions; loaded versions continue to serve. Does not block."""
        with self._changed:
            if self._stopping:
                return
            self._stopping = True
        for watcher in self._watchers:
            if hasattr(watcher, "stopping"):
                watcher.stopping()

    def close(self, seconds: float) -> None:
        """Unloads each version once its requests have ended; waits up to `seconds`.

        If a `poll` on another thread is still loading a version after this time, that
        `poll` unloads all versions instead, as soon as it can.
        """
        self.stop_loading()
        self._end_by = time.monotonic() + seconds
        self._end_all(self._end_by)

    def _look(self) -> None:
        try:
            found = versions.find(self._folder)
        except OSError as error:
            _logger.warning("Cannot list versions in %s: %s", self._folder, error)
            return
        for version in self._failures.keys() - found.keys():
            del self._failures[version]
        try:
            kept = self._load_newest(found)
        except _StoppingError:
            return
        self._retire(self._serving.keys() - kept)
        self._end_unused()
        self._forget(found)

    def _end_all(self, end_by: float) -> None:
        """Unloads all versions, or lets a poll that takes long do so: see `close`."""
        if not self._polling.acquire(timeout=max(0, end_by - time.monotonic())):
            return
        try:
            self._retire(list(self._serving))
            with self._changed:
                self._changed.wait_for(
                    lambda: not any(each.leases for each in self._retired),
                    max(0, end_by - time.monotonic()),
                )
            self._end_unused()
        finally:
            self._polling.release()

    def _find(self, version: int | None) -> _Serving:
        if not self._serving and version is None:
            raise errors.UnavailableError(
                f"model {self.name!r} has no version that serves: see its status"
            )
        wanted = max(self._serving) if version is None else version
        if wanted not in self._serving:
            raise errors.NotFoundError(
                f"version {wanted} of model {self.name!r} does not serve; these do: "
                f"{sorted(self._serving)}"
            )
        return self._serving[wanted]

    def _load_newest(self, found: dict[int, str]) -> set[int]:
        """Loads the newest versions, except those that fail.

        Returns the numbers of the versions that should serve.
        """
        kept: set[int] = set()
        for version in sorted(found, reverse=True):
            if self._keep is not None and len(kept) == self._keep:
                break
            if version in self._serving or self._load(version, found[version]):
                kept.add(version)
        return kept

    def _load(self, version: int, path: str) -> bool:
        self._check_loading()
        # Computed before loading, so that a change of the files meanwhile is noticed.
        files = versions.fingerprint(path)
        failure = self._failures.get(version)
        if failure is not None and not failure.is_over(files):
            return False
        self._tell(version, "LOADING")
        try:
            loaded = load(self.name, version, path)
            self._start(loaded)
        except _StoppingError:
            self._tell(version, "END")
            raise
        # All exceptions are caught, since even an unexpected one must not end polling.
        except Exception as error:
            self._metrics.loads.labels("failed").inc()
            self._failures[version] = _Failure(files)
            self._tell(version, "END", codes.as_persia_error(error))
            unknown = not isinstance(error, errors.PersiaError)
            _logger.error(
                "Version %d does not serve: %s", version, error, exc_info=unknown
            )
            return False
        self._failures.pop(version, None)
        _logger.info("Version %d serves, from %s", version, path)
        return True

    def _start(self, loaded: Loaded) -> None:
        told: list[Watcher] = []
        try:
            for watcher in self._watchers:
                self._check_loading()
                watcher.started(loaded)
                told.append(watcher)
            with self._changed:
                self._check_loading()
                self._metrics.loads.labels("loaded").inc()
                self._metrics.serving.labels(str(loaded.version)).set(1)
                self._serving[loaded.version] = _Serving(loaded)
                self._tell(loaded.version, "AVAILABLE")
                self._tell_serving(True)
        except BaseException:
            for watcher in reversed(told):
                watcher.ended(loaded)
            raise

    def _check_loading(self) -> None:
        """Raises _StoppingError if `stop_loading` was called."""
        with self._changed:
            if self._stopping:
                raise _StoppingError

    def _retire(self, unwanted: Any) -> None:
        """Refuses new requests to versions, so that `_end_unused` can unload them."""
        with self._changed:
            for version in list(unwanted):
                self._retired.append(self._serving.pop(version))
                self._tell(version, "UNLOADING")
                self._metrics.serving.remove(str(version))
            self._tell_serving(bool(self._serving))

    def _end_unused(self) -> None:
        with self._changed:
            unused = [each for each in self._retired if not each.leases]
            self._retired = [each for each in self._retired if each.leases]
        for each in unused:
            for watcher in reversed(self._watchers):
                watcher.ended(each.loaded)
            version = each.loaded.version
            _logger.info("Version %d has ended", version)
            if version not in self._serving:
                self._tell(version, "END")
        if unused:
            del each, unused
            gc.collect()  # Frees SavedModels, whose objects form reference cycles.

    def _forget(self, found: dict[int, str]) -> None:
        """Removes the states of versions that have ended and whose folders are gone."""
        with self._changed:
            for version, state in list(self._states.items()):
                if state.state == "END" and version not in found:
                    del self._states[version]

    def _tell(
        self, version: int, state: str, error: errors.PersiaError | None = None
    ) -> None:
        with self._changed:
            self._states[version] = VersionState(version, state, error)


class _Serving:
    """A version that serves, and its number of leases."""

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self.leases = 0


class _Failure:
    """A failure to load a version: the version's files, and when to try again."""

    def __init__(self, files: Any) -> None:
        self._files = files
        self._retry_at = time.monotonic() + _RETRY_SECONDS

    def is_over(self, files: Any) -> bool:
        """Whether to load again: the files changed, or the retry time has come."""
        return files != self._files or time.monotonic() >= self._retry_at
