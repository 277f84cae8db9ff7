"""CONTRIBUTING.md lists the files that a new message, option or counter changes."""

import os
import re
from pathlib import Path

import pytest

ROOT = Path(os.path.abspath(__file__)).parents[1]  # A sandbox sees it through links.

ANY_REQUEST = re.compile(r"using AnyRequest =\s*std::variant<([^>]*)>")

PRODUCT = [
    path
    for pattern in ("cc/**/*.h", "cc/**/*.cc", "persia_tf/**/*.py", "docs/commands.md")
    for path in sorted(ROOT.glob(pattern))
]


def files_that_name(name):
    """The product's files that have the name of an option or a counter as a word."""
    spelled = re.compile(rf"\b{name}\b|--{name.replace('_', '-')}\b")
    return {
        str(path.relative_to(ROOT))
        for path in PRODUCT
        if spelled.search(path.read_text())
    }


def files_listed(section):
    """The files that a section of CONTRIBUTING.md names in backquotes.

    A name without a folder is that of a file in the root folder; if there is no such
    file, it is in the folder of the name before it.
    """
    text = (ROOT / "CONTRIBUTING.md").read_text()
    body = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    files = []
    for name in re.findall(r"`([\w./]+\.(?:h|cc|py|md))`", body):
        is_whole = "/" in name or (ROOT / name).is_file()
        folder = "" if is_whole else f"{os.path.dirname(files[-1])}/"
        files.append(folder + name)
    return set(files)


def requests_of(header):
    """The types of requests, as `embedding_service.h` lists them."""
    [listed] = ANY_REQUEST.findall(header)
    return re.findall(r"\w+Request\b", listed)


def files_that_name_most(requests, root):
    """The sources that name more than two thirds of the request types.

    Requests with vectors have files of their own, so not every listed file names all
    types. Other files name a few types that concern them.
    """
    paths = set()
    for path in sorted((root / "cc").rglob("*")):
        if path.suffix in (".h", ".cc"):
            words = set(re.findall(r"\w+", path.read_text()))
            if 3 * len(words & set(requests)) > 2 * len(requests):
                paths.add(path.relative_to(root).as_posix())
    return paths


def test_the_list_of_files_that_a_message_changes_is_complete():
    header = (ROOT / "cc/service/embedding_service.h").read_text()
    requests = requests_of(header)
    assert "LookupRequest" in requests
    assert files_that_name_most(requests, ROOT) == files_listed("Adding a message")


def test_a_file_that_is_not_listed_is_found(tmp_path):
    requests = ["ARequest", "BRequest", "CRequest", "DRequest"]
    (tmp_path / "cc" / "server").mkdir(parents=True)
    call = tmp_path / "cc" / "server" / "call.cc"
    call.write_text("ARequest a; BRequest b;")
    assert files_that_name_most(requests, tmp_path) == set()
    call.write_text("ARequest a; BRequest b; CRequest* c;")
    assert files_that_name_most(requests, tmp_path) == {"cc/server/call.cc"}


@pytest.mark.parametrize(
    ("option", "declared", "used"),
    [
        ("log_size", "recovering", set()),
        (
            *("max_tables", "ps"),
            {
                "cc/store/store.cc",
                "persia_tf/native/core_limits.py",
                "persia_tf/simulation/metadata_limits.py",
            },
        ),
    ],
)
def test_an_option_stands_in_the_files_that_are_listed(option, declared, used):
    listed = files_listed("Adding an option")
    found = files_that_name(option)
    assert {
        "cc/capi/server_options.h",
        f"persia_tf/commands/{declared}.py",
        "docs/commands.md",
    } <= found
    assert found - used <= listed


# For each counter: where it is declared in C++ and Python, and where it is counted.
@pytest.mark.parametrize(
    ("counter", "declared", "counted"),
    [
        (
            "nonfinite_gradients",
            {
                "cc/store/table.h",
                "persia_tf/stats.py",
                "persia_tf/commands/status.py",
                "persia_tf/monitoring/server_metrics.py",
            },
            {"cc/store/table.cc"},
        ),
        (
            "repeated_updates",
            {
                "cc/service/service_stats.h",
                "persia_tf/stats.py",
                "persia_tf/commands/status.py",
                "persia_tf/monitoring/server_metrics.py",
            },
            {"cc/shard/local_service.cc"},
        ),
        (
            "prefetch_dropped",
            {
                "cc/pipeline/session.h",
                "persia_tf/telemetry.py",
                "persia_tf/monitoring/trainer_metrics.py",
            },
            {"cc/pipeline/lookup_sender.cc"},
        ),
        (
            "hot_misses",
            {"cc/serving/remote_tables.h", "persia_tf/serving/remote_clients.py"},
            {"cc/serving/remote_tables.cc"},
        ),
    ],
)
def test_a_counter_stands_in_the_files_that_are_listed(counter, declared, counted):
    assert files_that_name(counter) == declared | counted
    assert declared <= files_listed("Adding a counter")


def test_every_listed_file_exists():
    for section in ("Adding a message", "Adding an option", "Adding a counter"):
        listed = files_listed(section)
        assert listed
        assert [name for name in listed if not (ROOT / name).is_file()] == []
