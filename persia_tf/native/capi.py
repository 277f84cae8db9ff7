"""Bridge to the native core: libpersia.so through ctypes.

`library()` returns the library with every function of `cc/capi/persia.h`,
`persia_batches.h`, `persia_cluster.h`, `persia_remote.h`, `persia_requests.h` and
`persia_stats.h` declared. A function that returns a status raises one of
`persia_tf.errors` on failure; text arguments must be encoded with `utf8()`. ctypes
releases the GIL during each call, so other threads run meanwhile.
"""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path
from typing import Any

from persia_tf import errors
from persia_tf.native import cluster_types

LIBRARY_NAME = "libpersia.so"
LIBRARY_DIR_VARIABLE = "PERSIA_LIBRARY_DIR"


# The number of slots, over which the ids of all tables are spread.
SLOTS = 2**14


class ServerHandle(ctypes.c_void_p):
    """A `persia_server*` of the C API: a running server."""


class EventsHandle(ctypes.c_void_p):
    """A `persia_events*` of the C API: a log for the events of servers."""


class StatsHandle(ctypes.c_void_p):
    """A `persia_stats*` of the C API: the counters of several processes."""


class PageHandle(ctypes.c_void_p):
    """A `persia_page*` of the C API: a page of an export of rows."""


class ChangesHandle(ctypes.c_void_p):
    """A `persia_changes*` of the C API: the changes that a follower requested."""


class CheckpointReplyHandle(ctypes.c_void_p):
    """A `persia_checkpoint_reply*` of the C API: the progress of each shard."""


class FilesReplyHandle(ctypes.c_void_p):
    """A `persia_files_reply*` of the C API: names or contents of files."""


class ResidualsHandle(ctypes.c_void_p):
    """A `persia_residuals*` of the C API: what error feedback keeps."""


class BodyHandle(ctypes.c_void_p):
    """A `persia_body*` of the C API: the parsed JSON body of a request."""


class RemoteHandle(ctypes.c_void_p):
    """A `persia_remote*` of the C API: a client of exported models."""


class Option(ctypes.Structure):
    """`persia_option` of the C API: the name and value of a server option."""

    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class Counter(ctypes.Structure):
    """`persia_counter` of the C API: the name and value of a counter."""

    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_uint64)]


_MOST_COUNTERS = 32


class Counters(ctypes.Structure):
    """`persia_counters` of the C API: a list of counters."""

    _fields_ = [("count", ctypes.c_int), ("list", Counter * _MOST_COUNTERS)]

    def by_name(self) -> dict[str, int]:
        """Returns the counters by name, in the core's order."""
        return {each.name.decode(): each.value for each in self.list[: self.count]}


class Event(ctypes.Structure):
    """`persia_event` of the C API: a message for the operator's log."""

    _fields_ = [
        ("level", ctypes.c_int),
        ("unix_seconds", ctypes.c_double),
        ("text", ctypes.c_char_p),
    ]


class Tls(ctypes.Structure):
    """`persia_tls` of the C API: a certificate, its key and a CA, as PEM texts."""

    _fields_ = [
        ("certificate", ctypes.c_char_p),
        ("key", ctypes.c_char_p),
        ("ca", ctypes.c_char_p),
    ]


class TableSettings(ctypes.Structure):
    """`persia_table_settings` of the C API: the settings of a new table."""

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
    """`persia_export_cursor` of the C API: the position of an export of rows."""

    _fields_ = [
        ("shard", ctypes.c_uint32),
        ("position", ctypes.c_uint64),
        ("owners", ctypes.c_uint64),
        ("at_end", ctypes.c_int),
    ]


class RowUsage(ctypes.Structure):
    """`persia_row_usage` of the C API: when and how often a row was looked up."""

    _fields_ = [("age", ctypes.c_uint32), ("count", ctypes.c_uint32)]


class PageView(ctypes.Structure):
    """`persia_page_view` of the C API: the rows on a page of an export."""

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
    """`persia_follow_position` of the C API: what a follower has received so far."""

    _fields_ = [
        ("follower", ctypes.c_uint64),
        ("epoch", ctypes.c_uint64),
        ("version", ctypes.c_uint64),
        ("base_save", ctypes.c_uint64),
    ]


class ChangesView(ctypes.Structure):
    """`persia_changes_view` of the C API: an overview of changes."""

    _fields_ = [
        ("begins", ctypes.c_int),
        ("complete", ctypes.c_int),
        ("tables", ctypes.c_int),
        ("cluster", ctypes.c_uint64),
        ("slot_epochs", ctypes.POINTER(ctypes.c_uint32)),
        ("fresh", ctypes.POINTER(ctypes.c_uint8)),
    ]


class ChangedTable(ctypes.Structure):
    """`persia_changed_table` of the C API: the changes of one table."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dim", ctypes.c_uint32),
        ("row_dtype", ctypes.c_char_p),
        ("ids", ctypes.POINTER(ctypes.c_int64)),
        ("rows", ctypes.POINTER(ctypes.c_float)),
        ("count", ctypes.c_uint64),
        ("erased", ctypes.POINTER(ctypes.c_int64)),
        ("erased_count", ctypes.c_uint64),
        ("fate", ctypes.c_int),
    ]


class CheckpointRequest(ctypes.Structure):
    """`persia_checkpoint_request` of the C API: an operation for all shards."""

    _fields_ = [
        ("action", ctypes.c_int),
        ("save_id", ctypes.c_uint64),
        ("parent_id", ctypes.c_uint64),
        ("generation", ctypes.c_uint64),
        ("folder", ctypes.c_char_p),
        ("files", ctypes.POINTER(ctypes.c_char_p)),
        ("file_count", ctypes.c_int),
    ]


class FilesRequest(ctypes.Structure):
    """`persia_files_request` of the C API: an operation on a checkpoint's files."""

    _fields_ = [
        ("action", ctypes.c_int),
        ("folder", ctypes.c_char_p),
        ("files", ctypes.POINTER(ctypes.c_char_p)),
        ("file_count", ctypes.c_int),
        ("contents", ctypes.c_char_p),
        ("contents_size", ctypes.c_uint64),
    ]


class CheckpointProgress(ctypes.Structure):
    """`persia_checkpoint_progress` of the C API: the progress of one shard."""

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
        ("slots", ctypes.c_uint64 * (SLOTS // 64)),
    ]


class ShardFile(ctypes.Structure):
    """`persia_shard_file` of the C API: the contents of a checkpoint's shard file."""

    _fields_ = [
        ("save_id", ctypes.c_uint64),
        ("parent_id", ctypes.c_uint64),
        ("member", ctypes.c_uint64),
        ("tables", ctypes.c_uint64),
        ("rows", ctypes.c_uint64),
        ("erased", ctypes.c_uint64),
        ("slots", ctypes.c_uint64 * (SLOTS // 64)),
    ]


# The size of the buffer for the error message of a `Files` callback, including the NUL.
FILE_MESSAGE_BYTES = 1024


def _file_call(*arguments: Any) -> Any:
    """Returns the type of a `Files` callback, whose last argument is a text buffer."""
    return ctypes.CFUNCTYPE(ctypes.c_int, *arguments, ctypes.c_void_p)


ReleaseFile = ctypes.CFUNCTYPE(None, ctypes.c_uint64)


class Files(ctypes.Structure):
    """`persia_files` of the C API: the callbacks for files at URLs."""

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
    """`persia_session_options` of the C API: how a session connects to shards."""

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


class ProcessStats(ctypes.Structure):
    """`persia_process_stats` of the C API: the counters of one process."""

    _fields_ = [
        ("address", ctypes.c_char_p),
        ("role", ctypes.c_char_p),
        ("source", ctypes.c_char_p),
        ("behind_millis", ctypes.c_uint64),
        ("tables", ctypes.c_int),
        ("requests", ctypes.c_int),
        ("trainers", ctypes.c_int),
        ("counters", Counters),
    ]


class RequestStats(ctypes.Structure):
    """`persia_request_stats` of the C API: a server's requests of one type."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("failed", ctypes.c_uint64),
        ("nanoseconds", ctypes.c_uint64),
        ("buckets", ctypes.POINTER(ctypes.c_uint64)),
        ("bucket_count", ctypes.c_int),
    ]


class TrainerStats(ctypes.Structure):
    """`persia_trainer_stats` of the C API: a program that trains."""

    _fields_ = [("program", ctypes.c_char_p), ("counters", Counters)]


class TableStats(ctypes.Structure):
    """`persia_table_stats` of the C API: the counters of one table."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dim", ctypes.c_uint32),
        ("counters", Counters),
    ]


LATENCY_BINS = 32


class RemoteCounters(ctypes.Structure):
    """`persia_remote_counters` of the C API: the counters of a remote client."""

    _fields_ = [
        ("number", ctypes.c_uint64),
        ("cluster", ctypes.c_char_p),
        ("addresses", ctypes.c_char_p),
        ("counters", Counters),
        ("latencies", ctypes.c_uint64 * LATENCY_BINS),
    ]


class BodyView(ctypes.Structure):
    """`persia_body_view` of the C API: an overview of a parsed request."""

    _fields_ = [
        ("signature", ctypes.c_char_p),
        ("in_rows", ctypes.c_int),
        ("is_named", ctypes.c_int),
        ("columns", ctypes.c_int),
    ]


class BodyColumn(ctypes.Structure):
    """`persia_body_column` of the C API: one input of a parsed request."""

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
    """`persia_body_output` of the C API: where to write the values of a column."""

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

# The C functions that return a status, with the types of their arguments.
_STATUS_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "persia_events_new": (ctypes.POINTER(EventsHandle),),
    "persia_events_take": (EventsHandle, _SECONDS, ctypes.POINTER(Event)),
    "persia_server_option": (_INT, _INT, ctypes.POINTER(ctypes.c_char_p)),
    "persia_server_start": (
        *(_INT, ctypes.POINTER(Option), _INT, EventsHandle),
        ctypes.POINTER(ServerHandle),
    ),
    "persia_server_stop": (ServerHandle, _SECONDS),
    "persia_server_move_shard": (ServerHandle, ctypes.c_uint32, _TEXT),
    "persia_server_move_address": (ServerHandle, _TEXT, _TEXT),
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
        *(_TEXT, ctypes.c_uint32, ctypes.c_uint64),
        *(ctypes.POINTER(FollowPosition), _COUNT),
        ctypes.POINTER(ChangesHandle),
    ),
    "persia_changes_table": (ChangesHandle, _INT, ctypes.POINTER(ChangedTable)),
    "persia_session_flush": (_TEXT,),
    "persia_session_move_shard": (_TEXT, ctypes.c_uint32, _TEXT),
    "persia_session_move_address": (_TEXT, _TEXT, _TEXT),
    "persia_session_checkpoint": (
        *(_TEXT, ctypes.POINTER(CheckpointRequest)),
        ctypes.POINTER(CheckpointReplyHandle),
    ),
    "persia_session_files": (
        *(_TEXT, ctypes.POINTER(FilesRequest)),
        ctypes.POINTER(FilesReplyHandle),
    ),
    "persia_session_save_residuals": (_TEXT, ctypes.POINTER(ResidualsHandle)),
    "persia_session_restore_residuals": (
        *(_TEXT, ctypes.POINTER(_TEXT), ctypes.POINTER(_COUNT), _INT, _COUNT),
    ),
    "persia_residuals_count": (
        *(ctypes.POINTER(_TEXT), ctypes.POINTER(_COUNT), _INT),
        ctypes.POINTER(_COUNT),
    ),
    "persia_checkpoint_read_file": (_TEXT, ctypes.POINTER(ShardFile)),
    "persia_checkpoint_compact_files": (
        *(ctypes.POINTER(_TEXT), _INT, ctypes.c_uint64, _TEXT),
    ),
    "persia_session_get_counters": (_TEXT, ctypes.POINTER(Counters)),
    "persia_session_get_staleness": (_TEXT, ctypes.POINTER(ctypes.c_uint64), _INT),
    "persia_remote_next": (_COUNT, ctypes.POINTER(RemoteHandle)),
    "persia_remote_refresh": (RemoteHandle, _TEXT, _INT, _IDS, _COUNT, _FLOATS),
    "persia_remote_erase": (RemoteHandle, _TEXT, _IDS, _COUNT),
    "persia_remote_close": (_COUNT,),
    "persia_batches_put": (
        *(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64),
        ctypes.POINTER(ctypes.c_int64),
    ),
    "persia_records_unpack": (
        *(ctypes.c_void_p, _COUNT, _IDS, ctypes.POINTER(_COUNT)),
    ),
    "persia_gather": (
        *(ctypes.c_void_p, _COUNT, _COUNT, ctypes.POINTER(ctypes.c_int32), _COUNT),
        ctypes.c_void_p,
    ),
    "persia_body_scan": (ctypes.c_void_p, _COUNT, ctypes.POINTER(BodyHandle)),
    "persia_body_get_column": (BodyHandle, _INT, ctypes.POINTER(BodyColumn)),
    "persia_body_read": (BodyHandle, ctypes.POINTER(BodyOutput), _INT),
    "persia_predict_request_check": (ctypes.c_char_p, _COUNT, _COUNT),
    "persia_stats_fetch": (
        *(_TEXT, _TEXT, ctypes.POINTER(Tls), _SECONDS),
        ctypes.POINTER(StatsHandle),
    ),
    "persia_cluster_open": (
        *(_TEXT, _TEXT, ctypes.POINTER(Tls), _SECONDS),
        ctypes.POINTER(cluster_types.ClusterHandle),
    ),
    **cluster_types.STATUS_FUNCTIONS,
    "persia_stats_of_server": (ServerHandle, ctypes.POINTER(StatsHandle)),
    "persia_stats_of_session": (_TEXT, ctypes.POINTER(StatsHandle)),
    "persia_stats_process": (StatsHandle, _INT, ctypes.POINTER(ProcessStats)),
    "persia_stats_table": (StatsHandle, _INT, _INT, ctypes.POINTER(TableStats)),
    "persia_stats_request": (StatsHandle, _INT, _INT, ctypes.POINTER(RequestStats)),
    "persia_stats_trainer": (StatsHandle, _INT, _INT, ctypes.POINTER(TrainerStats)),
}

# All other C functions, with the types of their results and arguments.
_VALUE_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "persia_last_error": (_TEXT, ()),
    "persia_server_port": (_INT, (ServerHandle,)),
    "persia_server_is_ready": (_INT, (ServerHandle,)),
    "persia_events_close": (None, (EventsHandle,)),
    "persia_events_free": (None, (EventsHandle,)),
    "persia_server_free": (None, (ServerHandle,)),
    "persia_batches_open": (ctypes.c_int64, ()),
    "persia_batches_finish": (None, (ctypes.c_int64,)),
    "persia_batches_close": (None, (ctypes.c_int64,)),
    "persia_body_get": (None, (BodyHandle, ctypes.POINTER(BodyView))),
    "persia_body_free": (None, (BodyHandle,)),
    "persia_slots_of_ids": (None, (_IDS, _COUNT, ctypes.POINTER(ctypes.c_uint32))),
    "persia_page_get": (None, (PageHandle, ctypes.POINTER(PageView))),
    "persia_page_free": (None, (PageHandle,)),
    "persia_changes_get": (None, (ChangesHandle, ctypes.POINTER(ChangesView))),
    "persia_changes_free": (None, (ChangesHandle,)),
    "persia_checkpoint_shards": (_INT, (CheckpointReplyHandle,)),
    "persia_checkpoint_shard": (
        None,
        (CheckpointReplyHandle, _INT, ctypes.POINTER(CheckpointProgress)),
    ),
    "persia_checkpoint_free": (None, (CheckpointReplyHandle,)),
    "persia_files_names": (_INT, (FilesReplyHandle,)),
    "persia_files_name": (_TEXT, (FilesReplyHandle, _INT)),
    "persia_files_contents": (
        ctypes.c_void_p,
        (FilesReplyHandle, ctypes.POINTER(_COUNT)),
    ),
    "persia_files_free": (None, (FilesReplyHandle,)),
    "persia_residuals_files": (_INT, (ResidualsHandle,)),
    "persia_residuals_file": (
        ctypes.c_void_p,
        (ResidualsHandle, _INT, ctypes.POINTER(_COUNT)),
    ),
    "persia_residuals_free": (None, (ResidualsHandle,)),
    "persia_set_files": (None, (ctypes.POINTER(Files),)),
    "persia_file_names_add": (None, (ctypes.c_void_p, _TEXT)),
    "persia_remote_free": (None, (RemoteHandle,)),
    "persia_remote_get_counters": (
        None,
        (RemoteHandle, ctypes.POINTER(RemoteCounters)),
    ),
    "persia_remote_set_followed": (None, (RemoteHandle, _INT)),
    "persia_stats_processes": (_INT, (StatsHandle,)),
    "persia_stats_bucket_bound": (ctypes.c_double, (_INT,)),
    "persia_stats_free": (None, (StatsHandle,)),
    **cluster_types.VALUE_FUNCTIONS,
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
        `$PERSIA_LIBRARY_DIR` if it is set, else the folder of persia_tf.
    """
    return Path(os.environ.get(LIBRARY_DIR_VARIABLE) or Path(__file__).parents[1])


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
        # `persia_last_error` is per thread, and ctypes runs this check on the thread of
        # the call.
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
