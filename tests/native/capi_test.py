"""The ctypes bridge, with the real library."""

import ctypes
import re
import threading
from pathlib import Path

import pytest

from persia_tf import errors
from persia_tf.client.session import SessionOptions
from persia_tf.native import capi, servers

CAPI = Path(__file__).parents[2] / "cc" / "capi"
HEADER = "".join(path.read_text() for path in sorted(CAPI.glob("persia*.h")))


@pytest.fixture
def native():
    return capi.library()


def open_session(native, name):
    options = SessionOptions(timeout=5.0).native("")
    native.persia_session_open(name, ctypes.byref(options))


@pytest.fixture
def session(native, request):
    """An open session on the embedded store."""
    name = capi.utf8(request.node.name)
    open_session(native, name)
    yield name
    native.persia_session_close(name)


def create_table(native, session, dim):
    rows = ctypes.c_uint64(99)
    settings = capi.TableSettings(dim=dim, initializer=b"zeros", optimizer=b"sgd")
    native.persia_session_create_table(
        session, b"t", ctypes.byref(settings), ctypes.byref(rows)
    )
    return rows.value


def test_declares_exactly_the_functions_of_the_header():
    exported = re.findall(r"PERSIA_EXPORT\s+[^;(]*?(\w+)\(", HEADER)
    assert sorted(exported) == sorted(capi.declared_functions())


def size_of(macro):
    (size,) = re.findall(rf"#define {macro} (\d+)", HEADER)
    return int(size)


@pytest.mark.parametrize(
    ("structure", "name"),
    [
        (capi.Tls, "persia_tls"),
        (capi.TableSettings, "persia_table_settings"),
        (capi.ExportCursor, "persia_export_cursor"),
        (capi.RowUsage, "persia_row_usage"),
        (capi.PageView, "persia_page_view"),
        (capi.FollowPosition, "persia_follow_position"),
        (capi.ChangesView, "persia_changes_view"),
        (capi.ChangedTable, "persia_changed_table"),
        (capi.Event, "persia_event"),
        (capi.Option, "persia_option"),
        (capi.Counter, "persia_counter"),
        (capi.Counters, "persia_counters"),
        (capi.SessionOptions, "persia_session_options"),
        (capi.ProcessStats, "persia_process_stats"),
        (capi.TableStats, "persia_table_stats"),
        (capi.RemoteCounters, "persia_remote_counters"),
        (capi.BodyView, "persia_body_view"),
        (capi.BodyColumn, "persia_body_column"),
        (capi.BodyOutput, "persia_body_output"),
    ],
)
def test_structures_have_the_fields_of_the_header_in_its_order(structure, name):
    (body,) = re.findall(r"typedef struct \{([^}]*)\} " + name + ";", HEADER)
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
        "persia_tls": capi.Tls,
        "uint64_t": ctypes.c_uint64,
        "uint32_t": ctypes.c_uint32,
        "const uint32_t*": ctypes.POINTER(ctypes.c_uint32),
        "const uint64_t*": ctypes.POINTER(ctypes.c_uint64),
        "const uint8_t*": ctypes.POINTER(ctypes.c_uint8),
        "int64_t": ctypes.c_int64,
        "void*": ctypes.c_void_p,
        "uint8_t*": ctypes.c_void_p,
        "int": ctypes.c_int,
        "float": ctypes.c_float,
        "persia_events*": capi.EventsHandle,
        "persia_counter": capi.Counter,
        "persia_counters": capi.Counters,
        "const int64_t*": ctypes.POINTER(ctypes.c_int64),
        "const persia_row_usage*": ctypes.POINTER(capi.RowUsage),
        "const float*": ctypes.POINTER(ctypes.c_float),
    }
    expected = []
    for field, c_type in fields:
        if structure is capi.BodyOutput and c_type == "char*":
            c_type = "void*"  # Bytes that are no string.
        name, _, bound = field.rstrip("]").partition("[")
        expected.append(
            (name, types[c_type] * size_of(bound) if bound else types[c_type])
        )
    assert structure._fields_ == expected


def test_the_library_is_loaded_once(native):
    assert capi.library() is native


def test_a_missing_library_is_explained(tmp_path):
    with pytest.raises(errors.LibraryLoadError, match="pip install") as failure:
        capi.load(tmp_path)
    assert str(tmp_path / "libpersia.so") in str(failure.value)
    assert isinstance(failure.value, ImportError)


def test_a_library_that_does_not_load_is_explained(tmp_path):
    (tmp_path / "libpersia.so").write_text("no library")
    with pytest.raises(errors.LibraryLoadError, match="does not load: .*make build"):
        capi.load(tmp_path)


def test_a_library_without_a_function_is_of_another_version(tmp_path):
    (tmp_path / "libpersia.so").symlink_to(_some_other_library())
    with pytest.raises(errors.LibraryLoadError, match="another version: .*persia_"):
        capi.load(tmp_path)


def _some_other_library():
    maps = Path("/proc/self/maps").read_text()
    return re.search(r"\S+/libc[.-]\S*so\S*$", maps, re.MULTILINE)[0]


def test_the_folder_of_the_library_is_the_packages_unless_told(monkeypatch):
    monkeypatch.delenv("PERSIA_LIBRARY_DIR", raising=False)
    assert capi.library_dir() == Path(capi.__file__).parents[1]
    monkeypatch.setenv("PERSIA_LIBRARY_DIR", "/elsewhere")
    assert capi.library_dir() == Path("/elsewhere")


def test_text_with_a_nul_is_refused():
    assert capi.utf8("é") == b"\xc3\xa9"
    with pytest.raises(ValueError, match="NUL, got 'a"):
        capi.utf8("a\0b")


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
    counters = capi.Counters(count=1, list=((b"committed", 99),))
    native.persia_session_get_counters(session, ctypes.byref(counters))
    assert counters.by_name()["committed"] == 0
    assert set(counters.by_name().values()) == {0}


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
    server = servers.start(servers.SHARD, {"io_threads": 1})
    try:
        port = native.persia_server_port(server)
        assert 1 <= port <= 65535
        # A second server cannot have the same port.
        with pytest.raises(ConnectionError, match=str(port)):
            servers.start(servers.SHARD, {"port": port})
        native.persia_server_stop(server, 5.0)
    finally:
        native.persia_server_free(server)
