"""`persia top` against a live cluster that trains."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from persia_tf import stats

DEADLINE_SECONDS = 120

# Trains until it is ended.
PROGRAM = """
import numpy as np
import persia_tf as ptf
from persia_tf._keras import keras

ids = keras.Input((), dtype="int64")
rows = ptf.layers.PersiaEmbedding(4, table="visitor")(ids)
model = keras.Model(ids, keras.layers.Dense(1)(rows))
model.compile("sgd", "mse")
while True:
    model.fit(np.arange(640), np.ones((640, 1)), verbose=0)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Two shards, a worker in front of them, and a program that trains."""
    folder = tmp_path_factory.mktemp("cluster")
    started = []

    def run(*command, **env):
        log = (folder / f"log{len(started)}").open("wb")
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **env}
        started.append(
            subprocess.Popen(
                [sys.executable, *map(str, command)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
            )
        )
        return started[-1]

    def serve(role, *options):
        ports = folder / f"{role}{len(started)}"
        server = run(
            *("-m", "persia_tf", role, "--port=0", f"--port-file={ports}", *options)
        )
        wait(ports.exists, server)
        return f"127.0.0.1:{ports.read_text().split()[0]}"

    try:
        shards = [
            serve("ps", f"--recovery-folder={folder}/recovery{i}") for i in range(2)
        ]
        worker = serve("worker", f"--ps={','.join(shards)}")
        trainer = run("-c", PROGRAM, PERSIA_PS=worker)
        wait(lambda: all(has_updates(each) for each in stats.fetch(shards)), trainer)
        yield worker, shards, trainer.pid
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def has_updates(process):
    return process.updates > 0


def wait(condition, process):
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert process.poll() is None, f"a process ended: {process.args}"
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_page_of_a_cluster_under_load(persia, cluster):
    worker, shards, pid = cluster
    command = persia("top", "--once", "--interval=2", worker)
    assert command.wait() == 0, command.stderr
    blocks = [block.splitlines() for block in command.stdout.split("\n\n")]
    (summary,), servers, loads, tables, trainers = blocks
    assert re.match(r"3 of 3 servers up, 1 tables, \d+ rows, ", summary)
    assert [line.split()[:2] for line in servers[1:]] == [
        [worker, "worker"],
        *([shard, "shard"] for shard in shards),
    ]
    for line in loads[1:]:
        address, lookups, median, _, updates, *_ = line.split()
        assert address in (worker, *shards)
        assert float(lookups) > 0 and float(updates) > 0
        assert re.fullmatch(r"\d+us|[\d.]+m?s", median)
    assert tables[0].split()[0] == "TABLE"
    (visitor,) = tables[1:]
    assert visitor.split()[:3] == ["visitor", "4", "640"]
    (trainer,) = trainers[1:]
    program, rate, staleness, *_ = trainer.split()
    assert program.endswith(f":{pid}")
    assert float(rate) > 0
    assert 0 <= int(staleness) <= 4


def test_without_a_terminal_page_follows_page(persia, cluster):
    worker, _, _ = cluster
    command = persia("top", "--interval=0.2", worker)
    command.wait_for(r"3 of 3 servers up.*over the last 0\.", 3, stream="stdout")
    command.send(signal.SIGINT)
    assert command.wait() == 130
    assert "\x1b" not in command.stdout
    pages = re.split(r"(?=^3 of 3 servers up)", command.stdout, flags=re.MULTILINE)
    for page in pages[1:3]:
        assert page.count("\nSERVER ") == 2
        assert page.endswith("\n\n")


def test_a_reader_that_has_enough_ends_it(cluster):
    worker, _, _ = cluster
    command = [sys.executable, "-m", "persia_tf", "top", "--interval=0.1", worker]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert b"servers up" in process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(DEADLINE_SECONDS) == 0


def test_a_server_that_is_down_makes_the_exit_code_1(persia, cluster, unused_address):
    _, shards, _ = cluster
    listed = f"{unused_address},{shards[0]}"
    command = persia("top", "--once", "--interval=0.1", "--timeout=1", listed)
    assert command.wait() == 1
    assert "1 of 2 servers up" in command.stdout
    assert re.search(rf"{unused_address} +DOWN: it did not answer", command.stdout)


def test_shards_that_are_all_down_are_an_error(persia, unused_address):
    command = persia("top", "--once", "--timeout=1", unused_address)
    assert command.wait() == 1
    (line,) = command.stderr.splitlines()
    assert line.startswith("persia top: shard 0 of 1")
    assert command.stdout == ""


def read_within(terminal, deadline):
    left = deadline - time.monotonic()
    readable, _, _ = select.select([terminal], [], [], max(0.0, left))
    assert readable, "the terminal shows nothing more"
    return os.read(terminal, 65536)


def test_the_live_page_ends_with_ctrl_c_and_leaves_the_terminal(cluster):
    worker, _, _ = cluster
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(COLUMNS="80", LINES="40", TERM="xterm")
        arguments = ["-m", "persia_tf", "top", "--interval=0.2", worker]
        os.execv(sys.executable, [sys.executable, *arguments])
    shown = b""
    deadline = time.monotonic() + DEADLINE_SECONDS
    try:
        # The second page, which has rates.
        while not re.search(
            rb"servers up.*over the last 0\.[1-9].*TRAINER", shown, re.S
        ):
            shown += read_within(terminal, deadline)
        os.kill(pid, signal.SIGINT)
        while b"\x1b[?1049l" not in shown:  # Leaves the alternate screen.
            shown += read_within(terminal, deadline)
        # If the terminal closed first, that would end the process.
        _, status = os.waitpid(pid, 0)
        pid = None
    finally:
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 130
    assert str(Path(worker)).encode() in shown
