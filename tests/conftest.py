"""Fixtures: real shards on free ports, bad networks, names that no other test uses."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
import tcp_proxy
from harness import ShardProcess

from persia_tf import _native, errors, session

_names = itertools.count()


_used_ports: set[int] = set()


def is_used(port: int) -> bool:
    """Whether an earlier shard had the port; from now on one had.

    This process keeps a session for each address, with the options of the first test
    that used it.
    """
    if port in _used_ports:
        return True
    _used_ports.add(port)
    return False


def let_updates_arrive() -> None:
    """Waits for the updates of a test, which would fail in a later one else."""
    with contextlib.suppress(errors.PersiaError):
        session.flush_all()


class Shard:
    """A parameter server shard in this process, on a free port of loopback."""

    def __init__(self, checkpoint_root: str = "", **options) -> None:
        self._checkpoint_root = checkpoint_root.encode()
        self._options = options
        self.start(port=0)
        while is_used(self.port):
            self.stop()
            self.start(port=0)

    def start(self, port: int) -> None:
        self._handle = _native.ServerHandle()
        options = _native.ServerOptions(
            host=b"127.0.0.1", port=port, io_threads=2, **self._options
        )
        _native.library().persia_server_start(
            *(ctypes.byref(options), self._checkpoint_root),
            ctypes.byref(self._handle),
        )
        self.port = _native.library().persia_server_port(self._handle)
        self.address = f"127.0.0.1:{self.port}"

    def stop(self) -> None:
        if self._handle:
            _native.library().persia_server_free(self._handle)
            self._handle = None


@pytest.fixture
def start_shards():
    """Starts shards; they end with the test."""
    started: list[Shard] = []

    def start(count: int, **options) -> list[Shard]:
        shards = [Shard(**options) for _ in range(count)]
        started.extend(shards)
        return shards

    yield start
    let_updates_arrive()
    for shard in started:
        shard.stop()


@pytest.fixture
def shard_process(tmp_path):
    """Starts shards in processes of their own, which can be killed; they end too."""
    started: list[ShardProcess] = []

    def start(**options) -> ShardProcess:
        while True:
            shard = ShardProcess(tmp_path / f"shard{len(started)}", **options)
            started.append(shard)
            shard.start()
            if not is_used(shard.port):
                return shard

    yield start
    for shard in started:
        shard.end()


@pytest.fixture
def start_proxies():
    """Starts a proxy in front of each address; they end with the test."""
    with contextlib.ExitStack() as running:

        def start(addresses, **options):
            return [
                running.enter_context(tcp_proxy.TcpProxy(address, **options))
                for address in addresses
            ]

        yield start
        let_updates_arrive()


@pytest.fixture
def rows_of():
    """Reads all of a table: each row with its state, by id."""
    import persia_tf as ptf

    def read(table, cluster):
        rows = {}
        for page in ptf.Table(table, cluster=cluster).export(batch_size=64):
            for row_id, row, state in zip(page.ids, page.rows, page.state):
                assert int(row_id) not in rows, f"row {row_id} was given twice"
                rows[int(row_id)] = np.concatenate([row, state])
        return rows

    return read


@pytest.fixture
def token_file(tmp_path):
    """Writes tokens to files as they must be; gives the path."""

    def write(token: bytes, name: str = "token", mode: int = 0o600) -> str:
        path = tmp_path / name
        path.write_bytes(token)
        path.chmod(mode)
        return str(path)

    return write


@pytest.fixture
def table() -> str:
    """A table name that this process did not use before."""
    return f"table_{next(_names)}"


@pytest.fixture(autouse=True)
def no_cluster_in_the_environment(monkeypatch):
    monkeypatch.delenv("PERSIA_PS", raising=False)
    monkeypatch.delenv("TF_CONFIG", raising=False)
    monkeypatch.delenv("PERSIA_AUTH_TOKEN_FILE", raising=False)


@pytest.fixture(params=["embedded", "2 shards"])
def cluster(request, start_shards):
    """The embedded store, and two external shards."""
    import persia_tf as ptf

    if request.param == "embedded":
        return ptf.Cluster.embedded()
    shards = start_shards(2)
    return ptf.Cluster([shard.address for shard in shards], timeout=20)


@pytest.fixture
def run_python(tmp_path):
    """Runs a program in a Python of its own, in an empty folder; its output."""

    def run(program: str) -> str:
        completed = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert completed.returncode == 0, completed.stderr
        return completed.stdout

    return run
