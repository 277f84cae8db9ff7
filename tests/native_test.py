"""The ctypes bridge, over the real library."""

import ctypes
import re
import threading
from pathlib import Path

import pytest

from persia_tf import _native, errors
from persia_tf.session import SessionOptions

HEADER = Path(__file__).parents[1] / "cc" / "capi" / "persia.h"


@pytest.fixture
def native():
    return _native.library()


def open_session(native, name):
    options = SessionOptions(timeout=5.0).native("")
    native.persia_session_open(name, ctypes.byref(options))


@pytest.fixture
def session(native, request):
    """An open session on the embedded store."""
    name = _native.utf8(request.node.name)
    open_session(native, name)
    yield name
    native.persia_session_close(name)


def create_table(native, session, dim):
    rows = ctypes.c_uint64(99)
    settings = _native.TableSettings(dim=dim, initializer=b"zeros", optimizer=b"sgd")
    native.persia_session_create_table(
        session, b"t", ctypes.byref(settings), ctypes.byref(rows)
    )
    return rows.value


def test_declares_exactly_the_functions_of_the_header():
    exported = re.findall(r"PERSIA_EXPORT\s+[^;(]*?(\w+)\(", HEADER.read_text())
    assert sorted(exported) == sorted(_native.declared_functions())


def size_of(macro):
    (size,) = re.findall(rf"#define {macro} (\d+)", HEADER.read_text())
    return int(size)


@pytest.mark.parametrize(
    ("structure", "name"),
    [
        (_native.Tls, "persia_tls"),
        (_native.TableSettings, "persia_table_settings"),
        (_native.ExportCursor, "persia_export_cursor"),
        (_native.RowUsage, "persia_row_usage"),
        (_native.PageView, "persia_page_view"),
        (_native.FollowPosition, "persia_follow_position"),
        (_native.ChangesView, "persia_changes_view"),
        (_native.ChangedTable, "persia_changed_table"),
        (_native.Event, "persia_event"),
        (_native.ServerOptions, "persia_server_options"),
        (_native.ShardOptions, "persia_shard_options"),
        (_native.SessionOptions, "persia_session_options"),
        (_native.SessionCounters, "persia_session_counters"),
        (_native.ProcessStats, "persia_process_stats"),
        (_native.TableStats, "persia_table_stats"),
        (_native.RemoteCounters, "persia_remote_counters"),
        (_native.BodyView, "persia_body_view"),
        (_native.BodyColumn, "persia_body_column"),
        (_native.BodyOutput, "persia_body_output"),
    ],
)
def test_structures_have_the_fields_of_the_header_in_its_order(structure, name):
    (body,) = re.findall(r"typedef struct \{([^}]*)\} " + name, HEADER.read_text())
    declarations = re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL).split(";")
    fields = [
        (field.strip().lstrip("*"), c_type.strip())
        for c_type, fields in re.findall(
            r"\s*((?:const )?\w+\*?) ([^;]+)", ";".join(declarations)
        )
        for field in fields.split(",")
    ]
    types = {
        "double": ctypes.c_double,
        "const char*": ctypes.c_char_p,
        "char*": ctypes.POINTER(ctypes.c_char),
        "persia_tls": _native.Tls,
        "uint64_t": ctypes.c_uint64,
        "uint32_t": ctypes.c_uint32,
        "const uint64_t*": ctypes.POINTER(ctypes.c_uint64),
        "int64_t": ctypes.c_int64,
        "void*": ctypes.c_void_p,
        "uint8_t*": ctypes.c_void_p,
        "int": ctypes.c_int,
        "float": ctypes.c_float,
        "persia_events*": _native.EventsHandle,
        "const int64_t*": ctypes.POINTER(ctypes.c_int64),
        "const persia_row_usage*": ctypes.POINTER(_native.RowUsage),
        "const float*": ctypes.POINTER(ctypes.c_float),
    }
    expected = []
    for field, c_type in fields:
        if structure is _native.BodyOutput and c_type == "char*":
            c_type = "void*"  # Texts that are no strings.
        name, _, bound = field.rstrip("]").partition("[")
        expected.append(
            (name, types[c_type] * size_of(bound) if bound else types[c_type])
        )
    assert structure._fields_ == expected


def test_the_library_is_loaded_once(native):
    assert _native.library() is native


def test_a_missing_library_is_explained(tmp_path):
    with pytest.raises(errors.LibraryLoadError, match="pip install") as failure:
        _native.load(tmp_path)
    assert str(tmp_path / "libpersia.so") in str(failure.value)
    assert isinstance(failure.value, ImportError)


def test_a_library_that_does_not_load_is_explained(tmp_path):
    (tmp_path / "libpersia.so").write_text("no library")
    with pytest.raises(errors.LibraryLoadError, match="does not load: .*make build"):
        _native.load(tmp_path)


def test_a_library_without_a_function_is_of_another_version(tmp_path):
    (tmp_path / "libpersia.so").symlink_to(_some_other_library())
    with pytest.raises(errors.LibraryLoadError, match="another version: .*persia_"):
        _native.load(tmp_path)


def _some_other_library():
    maps = Path("/proc/self/maps").read_text()
    return re.search(r"\S+/libc[.-]\S*so\S*$", maps, re.MULTILINE)[0]


def test_the_folder_of_the_library_is_the_packages_unless_told(monkeypatch):
    monkeypatch.delenv("PERSIA_LIBRARY_DIR", raising=False)
    assert _native.library_dir() == Path(_native.__file__).parent
    monkeypatch.setenv("PERSIA_LIBRARY_DIR", "/elsewhere")
    assert _native.library_dir() == Path("/elsewhere")


def test_text_with_a_nul_is_refused():
    assert _native.utf8("é") == b"\xc3\xa9"
    with pytest.raises(ValueError, match="NUL, got 'a"):
        _native.utf8("a\0b")


def test_a_table_is_made_with_no_rows_and_attached_to(native, session):
    assert create_table(native, session, dim=4) == 0
    assert create_table(native, session, dim=4) == 0


def test_a_rule_that_is_broken_raises_with_the_value(native, session):
    with pytest.raises(ValueError, match="-5"):
        create_table(native, session, dim=-5)


def test_a_table_with_other_settings_raises(native, session):
    create_table(native, session, dim=4)
    with pytest.raises(errors.AlreadyExistsError):
        create_table(native, session, dim=5)


def test_an_unknown_session_raises_with_its_name(native):
    with pytest.raises(LookupError, match="nobody"):
        native.persia_session_flush(b"nobody")


def test_a_session_name_in_use_raises(native, session):
    with pytest.raises(errors.AlreadyExistsError):
        open_session(native, session)


def test_counters_of_a_new_session_are_zero(native, session):
    counters = _native.SessionCounters(committed=99)
    native.persia_session_get_counters(session, ctypes.byref(counters))
    assert all(getattr(counters, field[0]) == 0 for field in counters._fields_)


def test_each_thread_gets_the_message_of_its_own_failure(native):
    names = [f"nobody-{index}" for index in range(8)]
    start, messages = threading.Barrier(len(names)), {}

    def fail(name):
        start.wait(timeout=30)
        for _ in range(100):
            with pytest.raises(LookupError) as failure:
                native.persia_session_flush(name.encode())
            messages.setdefault(name, set()).add(str(failure.value))

    threads = [threading.Thread(target=fail, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(len(messages[name]) == 1 for name in names)
    assert all(name in messages[name].pop() for name in names)


def test_a_server_of_this_process_serves_until_it_is_stopped(native):
    server = _native.ServerHandle()
    options = _native.ServerOptions(host=b"127.0.0.1", io_threads=1)
    native.persia_server_start(ctypes.byref(options), None, ctypes.byref(server))
    try:
        port = native.persia_server_port(server)
        assert 1 <= port <= 65535
        # The port is taken.
        with pytest.raises(ConnectionError, match=str(port)):
            options.port = port
            native.persia_server_start(
                *(ctypes.byref(options), None),
                ctypes.byref(_native.ServerHandle()),
            )
        native.persia_server_stop(server, 5.0)
    finally:
        native.persia_server_free(server)
