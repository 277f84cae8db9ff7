"""Bridge to the native core: libpersia.so through ctypes.

`library()` returns the library with every function of `cc/capi/persia.h` declared.
A function that returns a status raises one of `persia_tf.errors` on failure; text
arguments must be encoded with `utf8()`. ctypes releases the GIL during each call, so
other threads run while one blocks.
"""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path
from typing import Any

from persia_tf import errors

LIBRARY_NAME = "libpersia.so"
LIBRARY_DIR_VARIABLE = "PERSIA_LIBRARY_DIR"


class ServerHandle(ctypes.c_void_p):
    """A `persia_server*`."""


class EventsHandle(ctypes.c_void_p):
    """A `persia_events*`."""


class StatsHandle(ctypes.c_void_p):
    """A `persia_stats*`."""


class PageHandle(ctypes.c_void_p):
    """A `persia_page*`."""


class ChangesHandle(ctypes.c_void_p):
    """A `persia_changes*`."""


class CheckpointReplyHandle(ctypes.c_void_p):
    """A `persia_checkpoint_reply*`."""


class BodyHandle(ctypes.c_void_p):
    """A `persia_body*`."""


class RemoteHandle(ctypes.c_void_p):
    """A `persia_remote*`."""


class Event(ctypes.Structure):
    """`persia_event`."""

    _fields_ = [
        ("level", ctypes.c_int),
        ("unix_seconds", ctypes.c_double),
        ("text", ctypes.c_char_p),
    ]


class Tls(ctypes.Structure):
    """`persia_tls`."""

    _fields_ = [
        ("certificate", ctypes.c_char_p),
        ("key", ctypes.c_char_p),
        ("ca", ctypes.c_char_p),
    ]


class ServerOptions(ctypes.Structure):
    """`persia_server_options`; a zero field selects the default."""

    _fields_ = [
        ("host", ctypes.c_char_p),
        ("port", ctypes.c_int),
        ("io_threads", ctypes.c_int),
        ("auth_token", ctypes.c_char_p),
        ("insecure", ctypes.c_int),
        ("max_connections", ctypes.c_int),
        ("max_message_bytes", ctypes.c_uint64),
        ("max_request_tables", ctypes.c_uint64),
        ("max_request_ids", ctypes.c_uint64),
        ("events", EventsHandle),
        ("tls", Tls),
    ]


class ShardOptions(ctypes.Structure):
    """`persia_shard_options`; a zero field selects the default."""

    _fields_ = [
        ("checkpoint_root", ctypes.c_char_p),
        ("recovery_folder", ctypes.c_char_p),
        ("recovery", ctypes.c_char_p),
        ("log_sync", ctypes.c_char_p),
        ("log_bytes", ctypes.c_uint64),
        ("lose_log_from", ctypes.c_uint64),
        ("memory_limit_bytes", ctypes.c_uint64),
        ("max_tables", ctypes.c_uint64),
        ("replica_of", ctypes.c_char_p),
    ]


class TableSettings(ctypes.Structure):
    """`persia_table_settings`."""

    _fields_ = [
        ("dim", ctypes.c_int),
        ("initializer", ctypes.c_char_p),
        ("optimizer", ctypes.c_char_p),
        ("row_dtype", ctypes.c_char_p),
        ("capacity", ctypes.c_char_p),
        ("admission", ctypes.c_char_p),
        ("eviction", ctypes.c_char_p),
        ("seed", ctypes.c_uint64),
        ("default_value", ctypes.c_float),
        ("replaces_optimizer", ctypes.c_int),
        ("held_optimizer", ctypes.POINTER(ctypes.c_char)),
    ]


class ExportCursor(ctypes.Structure):
    """`persia_export_cursor`."""

    _fields_ = [
        ("shard", ctypes.c_uint32),
        ("position", ctypes.c_uint64),
        ("at_end", ctypes.c_int),
    ]


class RowUsage(ctypes.Structure):
    """`persia_row_usage`."""

    _fields_ = [("age", ctypes.c_uint32), ("count", ctypes.c_uint32)]


class PageView(ctypes.Structure):
    """`persia_page_view`."""

    _fields_ = [
        ("ids", ctypes.POINTER(ctypes.c_int64)),
        ("rows", ctypes.POINTER(ctypes.c_float)),
        ("state", ctypes.POINTER(ctypes.c_float)),
        ("count", ctypes.c_uint64),
        ("dim", ctypes.c_uint32),
        ("state_size", ctypes.c_uint32),
        ("uses", ctypes.POINTER(RowUsage)),
        ("use_time", ctypes.c_uint32),
    ]


class FollowPosition(ctypes.Structure):
    """`persia_follow_position`."""

    _fields_ = [
        ("follower", ctypes.c_uint64),
        ("epoch", ctypes.c_uint64),
        ("version", ctypes.c_uint64),
        ("base_save", ctypes.c_uint64),
    ]


class ChangesView(ctypes.Structure):
    """`persia_changes_view`."""

    _fields_ = [
        ("begins", ctypes.c_int),
        ("complete", ctypes.c_int),
        ("tables", ctypes.c_int),
    ]


class ChangedTable(ctypes.Structure):
    """`persia_changed_table`."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dim", ctypes.c_uint32),
        ("row_dtype", ctypes.c_char_p),
        ("shard_index", ctypes.c_uint32),
        ("shard_count", ctypes.c_uint32),
        ("ids", ctypes.POINTER(ctypes.c_int64)),
        ("rows", ctypes.POINTER(ctypes.c_float)),
        ("count", ctypes.c_uint64),
        ("erased", ctypes.POINTER(ctypes.c_int64)),
        ("erased_count", ctypes.c_uint64),
        ("fate", ctypes.c_int),
    ]


class CheckpointRequest(ctypes.Structure):
    """`persia_checkpoint_request`."""

    _fields_ = [
        ("action", ctypes.c_int),
        ("save_id", ctypes.c_uint64),
        ("parent_id", ctypes.c_uint64),
        ("generation", ctypes.c_uint64),
        ("folder", ctypes.c_char_p),
        ("files", ctypes.POINTER(ctypes.c_char_p)),
        ("file_count", ctypes.c_int),
        ("contents", ctypes.c_char_p),
        ("contents_size", ctypes.c_uint64),
    ]


class CheckpointProgress(ctypes.Structure):
    """`persia_checkpoint_progress`."""

    _fields_ = [
        ("state", ctypes.c_int),
        ("code", ctypes.c_int),
        ("message", ctypes.c_char_p),
        ("file", ctypes.c_char_p),
        ("rows", ctypes.c_uint64),
        ("total_rows", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("base_id", ctypes.c_uint64),
        ("needed", ctypes.c_char_p),
        ("base_code", ctypes.c_int),
        ("base_message", ctypes.c_char_p),
    ]


class ShardFile(ctypes.Structure):
    """`persia_shard_file`."""

    _fields_ = [
        ("save_id", ctypes.c_uint64),
        ("parent_id", ctypes.c_uint64),
        ("shard_index", ctypes.c_uint32),
        ("shard_count", ctypes.c_uint32),
        ("tables", ctypes.c_uint64),
        ("rows", ctypes.c_uint64),
        ("erased", ctypes.c_uint64),
    ]


# Size of the buffer for an error message from a function of `Files`, with its NUL.
FILE_MESSAGE_BYTES = 1024


def _file_call(*arguments: Any) -> Any:
    """The type of a function of `Files`; its last argument is a message buffer."""
    return ctypes.CFUNCTYPE(ctypes.c_int, *arguments, ctypes.c_void_p)


ReleaseFile = ctypes.CFUNCTYPE(None, ctypes.c_uint64)


class Files(ctypes.Structure):
    """`persia_files`."""

    _fields_ = [
        ("create", _file_call(ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint64))),
        ("append", _file_call(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64)),
        ("finish", _file_call(ctypes.c_uint64)),
        ("open", _file_call(ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint64))),
        (
            "read",
            _file_call(
                *(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64),
                ctypes.POINTER(ctypes.c_uint64),
            ),
        ),
        ("release", ReleaseFile),
        ("size", _file_call(ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint64))),
        ("write_whole", _file_call(ctypes.c_char_p, ctypes.c_void_p, ctypes.c_uint64)),
        ("remove", _file_call(ctypes.c_char_p)),
        ("list", _file_call(ctypes.c_char_p, ctypes.c_void_p)),
        ("make_folder", _file_call(ctypes.c_char_p)),
        ("remove_folder", _file_call(ctypes.c_char_p)),
    ]


class SessionOptions(ctypes.Structure):
    """`persia_session_options`."""

    _fields_ = [
        ("addresses", ctypes.c_char_p),
        ("timeout_seconds", ctypes.c_double),
        ("staleness", ctypes.c_int),
        ("wire_dtype", ctypes.c_char_p),
        ("hot_rows", ctypes.c_uint64),
        ("auth_token", ctypes.c_char_p),
        ("tls", Tls),
        ("events", EventsHandle),
    ]


class SessionCounters(ctypes.Structure):
    """`persia_session_counters`."""

    _fields_ = [
        ("training_lookups", ctypes.c_uint64),
        ("readonly_lookups", ctypes.c_uint64),
        ("committed", ctypes.c_uint64),
        ("pushed", ctypes.c_uint64),
        ("discarded", ctypes.c_uint64),
        ("nonfinite", ctypes.c_uint64),
        ("absent", ctypes.c_uint64),
        ("requests", ctypes.c_uint64),
        ("prefetched", ctypes.c_uint64),
        ("stale", ctypes.c_uint64),
        ("dropped", ctypes.c_uint64),
        ("waits", ctypes.c_uint64),
        ("wait_nanoseconds", ctypes.c_uint64),
        ("unacknowledged", ctypes.c_uint64),
        ("registered", ctypes.c_uint64),
        ("staleness_last", ctypes.c_uint64),
        ("staleness_max", ctypes.c_uint64),
        ("hot_hits", ctypes.c_uint64),
        ("hot_misses", ctypes.c_uint64),
        ("bytes_out", ctypes.c_uint64),
        ("bytes_in", ctypes.c_uint64),
        ("sent_requests", ctypes.c_uint64),
        ("retries", ctypes.c_uint64),
        ("reconnects", ctypes.c_uint64),
    ]


class ProcessStats(ctypes.Structure):
    """`persia_process_stats`."""

    _fields_ = [
        ("address", ctypes.c_char_p),
        ("generation", ctypes.c_uint64),
        ("lookups", ctypes.c_uint64),
        ("updates", ctypes.c_uint64),
        ("repeated_updates", ctypes.c_uint64),
        ("bad_frames", ctypes.c_uint64),
        ("refused_connections", ctypes.c_uint64),
        ("connections", ctypes.c_uint64),
        ("source", ctypes.c_char_p),
        ("behind_millis", ctypes.c_uint64),
        ("tables", ctypes.c_int),
    ]


class TableStats(ctypes.Structure):
    """`persia_table_stats`."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dim", ctypes.c_uint32),
        ("rows", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("index_slots", ctypes.c_uint64),
        ("rows_looked_up", ctypes.c_uint64),
        ("rows_found", ctypes.c_uint64),
        ("rows_updated", ctypes.c_uint64),
        ("nonfinite_gradients", ctypes.c_uint64),
        ("absent_gradients", ctypes.c_uint64),
        ("evictions", ctypes.c_uint64),
        ("refused", ctypes.c_uint64),
    ]


LATENCY_BINS = 32


class RemoteCounters(ctypes.Structure):
    """`persia_remote_counters`."""

    _fields_ = [
        ("number", ctypes.c_uint64),
        ("cluster", ctypes.c_char_p),
        ("addresses", ctypes.c_char_p),
        ("lookups", ctypes.c_uint64),
        ("ids", ctypes.c_uint64),
        ("unique_ids", ctypes.c_uint64),
        ("requests", ctypes.c_uint64),
        ("failures", ctypes.c_uint64),
        ("zeros", ctypes.c_uint64),
        ("hot_hits", ctypes.c_uint64),
        ("hot_misses", ctypes.c_uint64),
        ("hot_rows", ctypes.c_uint64),
        ("hot_bytes", ctypes.c_uint64),
        ("latencies", ctypes.c_uint64 * LATENCY_BINS),
    ]


class BodyView(ctypes.Structure):
    """`persia_body_view`."""

    _fields_ = [
        ("signature", ctypes.c_char_p),
        ("in_rows", ctypes.c_int),
        ("is_named", ctypes.c_int),
        ("columns", ctypes.c_int),
    ]


class BodyColumn(ctypes.Structure):
    """`persia_body_column`."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("kinds", ctypes.c_uint32),
        ("is_ragged", ctypes.c_int),
        ("rank", ctypes.c_int),
        ("shape", ctypes.POINTER(ctypes.c_uint64)),
        ("values", ctypes.c_uint64),
        ("text_bytes", ctypes.c_uint64),
        ("least", ctypes.c_int64),
        ("most", ctypes.c_uint64),
    ]


class BodyOutput(ctypes.Structure):
    """`persia_body_output`."""

    _fields_ = [
        ("form", ctypes.c_int),
        ("values", ctypes.c_void_p),
        ("value_count", ctypes.c_uint64),
        ("texts", ctypes.c_void_p),
        ("text_bytes", ctypes.c_uint64),
        ("are_base64", ctypes.c_void_p),
    ]


_TEXT = ctypes.c_char_p
_INT = ctypes.c_int
_COUNT = ctypes.c_uint64
_SECONDS = ctypes.c_double
_IDS = ctypes.POINTER(ctypes.c_int64)
_FLOATS = ctypes.POINTER(ctypes.c_float)

# The functions that return a status, with their arguments.
_STATUS_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "persia_events_new": (ctypes.POINTER(EventsHandle),),
    "persia_events_take": (EventsHandle, _SECONDS, ctypes.POINTER(Event)),
    "persia_server_start": (
        *(ctypes.POINTER(ServerOptions), ctypes.POINTER(ShardOptions)),
        ctypes.POINTER(ServerHandle),
    ),
    "persia_worker_start": (
        *(ctypes.POINTER(ServerOptions), _TEXT, _SECONDS, _COUNT),
        ctypes.POINTER(ServerHandle),
    ),
    "persia_server_stop": (ServerHandle, _SECONDS),
    "persia_session_open": (_TEXT, ctypes.POINTER(SessionOptions)),
    "persia_session_close": (_TEXT,),
    "persia_session_create_table": (
        *(_TEXT, _TEXT, ctypes.POINTER(TableSettings)),
        ctypes.POINTER(_COUNT),
    ),
    "persia_session_lookup": (_TEXT, _TEXT, _INT, _IDS, _COUNT, _FLOATS),
    "persia_session_assign": (
        *(_TEXT, _TEXT, _INT, _INT, _IDS, _COUNT),
        *(_FLOATS, _FLOATS),
    ),
    "persia_session_drop_table": (_TEXT, _TEXT, _INT),
    "persia_session_retire_layer": (_TEXT, _TEXT, _TEXT),
    "persia_session_remove": (_TEXT, _TEXT, _IDS, _COUNT, ctypes.POINTER(_COUNT)),
    "persia_session_export": (
        *(_TEXT, _TEXT, _COUNT, ctypes.POINTER(ExportCursor)),
        ctypes.POINTER(PageHandle),
    ),
    "persia_session_changes": (
        *(_TEXT, ctypes.c_uint32, ctypes.POINTER(FollowPosition), _COUNT),
        ctypes.POINTER(ChangesHandle),
    ),
    "persia_changes_table": (ChangesHandle, _INT, ctypes.POINTER(ChangedTable)),
    "persia_shards_of_ids": (
        *(_IDS, _COUNT, ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint32)),
    ),
    "persia_session_flush": (_TEXT,),
    "persia_session_checkpoint": (
        *(_TEXT, ctypes.POINTER(CheckpointRequest)),
        ctypes.POINTER(CheckpointReplyHandle),
    ),
    "persia_checkpoint_read_file": (_TEXT, ctypes.POINTER(ShardFile)),
    "persia_checkpoint_compact_files": (
        *(ctypes.POINTER(_TEXT), _INT, ctypes.c_uint64, _TEXT),
    ),
    "persia_session_get_counters": (_TEXT, ctypes.POINTER(SessionCounters)),
    "persia_session_get_staleness": (_TEXT, ctypes.POINTER(ctypes.c_uint64), _INT),
    "persia_remote_next": (_COUNT, ctypes.POINTER(RemoteHandle)),
    "persia_remote_refresh": (RemoteHandle, _TEXT, _INT, _IDS, _COUNT, _FLOATS),
    "persia_remote_erase": (RemoteHandle, _TEXT, _IDS, _COUNT),
    "persia_remote_close": (_COUNT,),
    "persia_body_scan": (ctypes.c_void_p, _COUNT, ctypes.POINTER(BodyHandle)),
    "persia_body_get_column": (BodyHandle, _INT, ctypes.POINTER(BodyColumn)),
    "persia_body_read": (BodyHandle, ctypes.POINTER(BodyOutput), _INT),
    "persia_predict_request_check": (ctypes.c_char_p, _COUNT, _COUNT),
    "persia_stats_fetch": (
        *(_TEXT, _TEXT, ctypes.POINTER(Tls), _SECONDS),
        ctypes.POINTER(StatsHandle),
    ),
    "persia_stats_of_server": (ServerHandle, ctypes.POINTER(StatsHandle)),
    "persia_stats_of_session": (_TEXT, ctypes.POINTER(StatsHandle)),
    "persia_stats_process": (StatsHandle, _INT, ctypes.POINTER(ProcessStats)),
    "persia_stats_table": (StatsHandle, _INT, _INT, ctypes.POINTER(TableStats)),
}

# All other functions, with their results and arguments.
_VALUE_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "persia_last_error": (_TEXT, ()),
    "persia_server_port": (_INT, (ServerHandle,)),
    "persia_server_is_ready": (_INT, (ServerHandle,)),
    "persia_events_close": (None, (EventsHandle,)),
    "persia_events_free": (None, (EventsHandle,)),
    "persia_server_free": (None, (ServerHandle,)),
    "persia_body_get": (None, (BodyHandle, ctypes.POINTER(BodyView))),
    "persia_body_free": (None, (BodyHandle,)),
    "persia_page_get": (None, (PageHandle, ctypes.POINTER(PageView))),
    "persia_page_free": (None, (PageHandle,)),
    "persia_changes_get": (None, (ChangesHandle, ctypes.POINTER(ChangesView))),
    "persia_changes_free": (None, (ChangesHandle,)),
    "persia_checkpoint_shards": (_INT, (CheckpointReplyHandle,)),
    "persia_checkpoint_shard": (
        None,
        (CheckpointReplyHandle, _INT, ctypes.POINTER(CheckpointProgress)),
    ),
    "persia_checkpoint_names": (_INT, (CheckpointReplyHandle,)),
    "persia_checkpoint_name": (_TEXT, (CheckpointReplyHandle, _INT)),
    "persia_checkpoint_contents": (
        ctypes.c_void_p,
        (CheckpointReplyHandle, ctypes.POINTER(_COUNT)),
    ),
    "persia_checkpoint_free": (None, (CheckpointReplyHandle,)),
    "persia_set_files": (None, (ctypes.POINTER(Files),)),
    "persia_file_names_add": (None, (ctypes.c_void_p, _TEXT)),
    "persia_remote_free": (None, (RemoteHandle,)),
    "persia_remote_get_counters": (
        None,
        (RemoteHandle, ctypes.POINTER(RemoteCounters)),
    ),
    "persia_remote_set_followed": (None, (RemoteHandle, _INT)),
    "persia_stats_processes": (_INT, (StatsHandle,)),
    "persia_stats_free": (None, (StatsHandle,)),
}


def declared_functions() -> set[str]:
    """Returns the names of the functions that this bridge declares."""
    return {*_STATUS_FUNCTIONS, *_VALUE_FUNCTIONS}


def utf8(text: str) -> bytes:
    """Encodes text for the native core.

    Args:
        text: Any text without a NUL.

    Returns:
        The text's UTF-8 bytes.

    Raises:
        InvalidArgumentError: If the text contains a NUL, which would truncate it.
    """
    if "\0" in text:
        raise errors.InvalidArgumentError(f"text must not contain a NUL, got {text!r}")
    return text.encode("utf-8")


def library_dir() -> Path:
    """Returns the folder of the native libraries.

    Returns:
        `$PERSIA_LIBRARY_DIR` if it is set, else the folder of this package.
    """
    return Path(os.environ.get(LIBRARY_DIR_VARIABLE) or Path(__file__).parent)


@functools.cache
def library() -> ctypes.CDLL:
    """Loads the native core, once per process.

    Returns:
        The library, with its functions declared.

    Raises:
        LibraryLoadError: If the library is missing, does not load, or has another
            version.
    """
    return load(library_dir())


def load(directory: Path) -> ctypes.CDLL:
    """Loads the library in `directory` and declares its functions.

    Args:
        directory: The folder that holds `libpersia.so`.

    Returns:
        The library, with its functions declared.

    Raises:
        LibraryLoadError: As `library` does.
    """
    path = directory / LIBRARY_NAME
    if not path.is_file():
        raise errors.LibraryLoadError(
            f"persia_tf's native library is missing: there is no {path}. Build it "
            "with `pip install .` or, in a checkout, `make build`; or set "
            f"${LIBRARY_DIR_VARIABLE} to the folder that holds {LIBRARY_NAME}."
        )
    try:
        native = ctypes.CDLL(str(path))
    except OSError as error:
        raise errors.LibraryLoadError(
            f"persia_tf's native library {path} does not load: {error}. Build it "
            "again on this machine, with `pip install .` or `make build`."
        ) from error
    try:
        _declare(native)
    except AttributeError as error:
        raise errors.LibraryLoadError(
            f"persia_tf's native library {path} is of another version: {error}. "
            "Build it again, with `pip install .` or `make build`."
        ) from error
    return native


def _declare(native: ctypes.CDLL) -> None:
    def raise_failure(status: int, function: Any, arguments: Any) -> None:
        # persia_last_error is per thread: this runs on the thread of the call.
        if status:
            message = native.persia_last_error().decode("utf-8", "replace")
            raise errors.from_code(status, message)

    for name, (restype, argtypes) in _VALUE_FUNCTIONS.items():
        function = getattr(native, name)
        function.restype, function.argtypes = restype, argtypes
    for name, argtypes in _STATUS_FUNCTIONS.items():
        function = getattr(native, name)
        function.restype, function.argtypes = _INT, argtypes
        function.errcheck = raise_failure
