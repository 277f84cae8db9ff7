"""Fixtures: real shards on free ports, bad networks, table names of one test each."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tcp_proxy
from harness import ShardProcess, is_used
from object_store import ObjectStore
from worker_processes import Ended, run_cluster

from persia_tf import errors
from persia_tf.client import session
from persia_tf.credentials import tls
from persia_tf.native import capi, servers

_names = itertools.count()


def let_updates_arrive() -> None:
    """Waits for the updates of a test, which could otherwise fail in a later test."""
    with contextlib.suppress(errors.PersiaError):
        session.flush_all()


def start_native(kind, tls=None, **options):
    """Starts a server in this process, with the `capi.Tls` if one is given."""
    if tls is not None:
        for name, *_ in tls._fields_:
            options[f"tls_{name}"] = getattr(tls, name)
    return servers.start(kind, options)


class Shard:
    """A parameter server shard in this process, on a free port of loopback."""

    def __init__(self, checkpoint_root: str = "", **options) -> None:
        self._checkpoint_root = checkpoint_root
        self._options = options
        self.start(port=0)

    def start(self, port: int) -> None:
        """Starts at a port, or if that is 0, at one that no earlier server had."""
        options = {"port": port, "checkpoint_root": self._checkpoint_root}
        while True:
            self._handle = start_native(servers.SHARD, **options, **self._options)
            self.port = capi.library().persia_server_port(self._handle)
            if port or not is_used(self.port):
                break
            self.stop()
        self.address = f"127.0.0.1:{self.port}"

    def stop(self) -> None:
        if self._handle:
            capi.library().persia_server_free(self._handle)
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
def start_worker():
    """Starts a worker in front of shards; gives its address. It ends with the test."""
    native = capi.library()
    started = []

    def start(shards, timeout=20.0, cache_rows=0, **options):
        while True:
            handle = start_native(
                servers.WORKER,
                **{"ps": list(shards), "timeout": timeout, "cache_rows": cache_rows},
                **options,
            )
            started.append(handle)
            port = native.persia_server_port(handle)
            if not is_used(port):
                return f"127.0.0.1:{port}"

    yield start
    for handle in started:
        native.persia_server_free(handle)


@pytest.fixture
def start_replicas():
    """Starts a replica of each shard; gives their addresses. They end with the test."""
    native = capi.library()
    started = []

    def start_one(source):
        while True:
            handle = start_native(servers.SHARD, replica_of=source)
            started.append(handle)
            port = native.persia_server_port(handle)
            if not is_used(port):
                return f"127.0.0.1:{port}"

    yield lambda sources: [start_one(source) for source in sources]
    for handle in started:
        native.persia_server_free(handle)


@pytest.fixture
def shard_process(tmp_path):
    """Starts shards in processes that can be killed; they end with the test."""
    started: list[ShardProcess] = []

    def start(**options) -> ShardProcess:
        while True:
            shard = ShardProcess(tmp_path / f"shard{len(started)}", **options)
            started.append(shard)
            shard.start()
            if not is_used(shard.port):
                return shard
            shard.end()  # The next shard uses its folders.

    yield start
    for shard in started:
        shard.end()


@pytest.fixture
def start_proxies():
    """Starts a proxy in front of each address; they end with the test."""
    with contextlib.ExitStack() as running:

        def proxy_of(address, **options):
            while True:
                proxy = running.enter_context(tcp_proxy.TcpProxy(address, **options))
                if not is_used(proxy.port):
                    return proxy

        def start(addresses, **options):
            return [proxy_of(address, **options) for address in addresses]

        yield start
        let_updates_arrive()


@pytest.fixture(scope="session")
def object_store():
    """A server of S3."""
    with ObjectStore() as store:
        yield store


@pytest.fixture
def bucket(object_store, monkeypatch):
    """A new bucket, which this process reaches by its environment variables."""
    for name, value in object_store.environment().items():
        monkeypatch.setenv(name, value)
    return object_store.make_bucket()


@pytest.fixture
def rows_of():
    """Reads a whole table: each row with its state, by id."""
    import persia_tf as ptf
    from persia_tf.table import uninterrupted

    def read(table, cluster):
        return uninterrupted(lambda: read_once(table, cluster))

    def read_once(table, cluster):
        rows = {}
        for page in ptf.Table(table, cluster=cluster).export(batch_size=64):
            for row_id, row, state in zip(page.ids, page.rows, page.state):
                assert int(row_id) not in rows, f"row {row_id} was given twice"
                rows[int(row_id)] = np.concatenate([row, state])
        return rows

    return read


@pytest.fixture
def token_file(tmp_path):
    """Writes tokens to files with the permissions that are required; gives the path."""

    def write(token: bytes, name: str = "token", mode: int = 0o600) -> str:
        path = tmp_path / name
        path.write_bytes(token)
        path.chmod(mode)
        return str(path)

    return write


class Certificates:
    """A folder with what the commands in SECURITY.md make: ca, ps-0 and trainer."""

    def __init__(self, folder: Path, shard_address: str) -> None:
        self.folder = folder
        text = (Path(__file__).parents[1] / "SECURITY.md").read_text()
        [commands] = [
            block
            for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
            if "certify()" in block
        ]
        completed = subprocess.run(
            ["bash", "-euc", commands.replace("10.0.0.1", shard_address)],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert completed.returncode == 0, completed.stderr

    def tls(self, name: str, ca: Certificates | None = None) -> tls.TLS:
        """The files of one process; the authority may be another folder's."""
        return tls.TLS(
            certificate=self.folder / f"{name}.pem",
            key=self.folder / f"{name}.key",
            ca=(ca or self).folder / "ca.pem",
        )

    def options(self, name: str) -> list[str]:
        """The command line options for the same files."""
        files = self.tls(name).get_config()
        return [f"--tls-{option}={path}" for option, path in files.items()]


@pytest.fixture(scope="session")
def certificates(tmp_path_factory) -> Certificates:
    """Certificates for shards on loopback, and their programs."""
    return Certificates(tmp_path_factory.mktemp("certificates"), "127.0.0.1")


@pytest.fixture(scope="session")
def other_certificates(tmp_path_factory) -> Certificates:
    """Certificates by another authority."""
    return Certificates(tmp_path_factory.mktemp("certificates"), "127.0.0.1")


@pytest.fixture
def table() -> str:
    """A table name that was not used before in this process."""
    return f"table_{next(_names)}"


@pytest.fixture(autouse=True)
def no_cluster_in_the_environment(monkeypatch):
    monkeypatch.delenv("PERSIA_PS", raising=False)
    monkeypatch.delenv("TF_CONFIG", raising=False)
    monkeypatch.delenv("PERSIA_AUTH_TOKEN_FILE", raising=False)
    monkeypatch.delenv("PERSIA_METRICS_PORT", raising=False)
    for variable in tls.VARIABLES.values():
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture(autouse=True)
def no_update_on_its_way():
    """Waits for updates, since all tests share the embedded store and its counters."""
    yield
    let_updates_arrive()


@pytest.fixture(autouse=True)
def embedded_options_are_the_defaults():
    """Fails a test whose options every later test of the process would have to use."""
    yield
    embedded = session.find_session(session.EMBEDDED)
    if embedded is not None:
        embedded.check_same(session.SessionOptions())


@pytest.fixture(params=["embedded", "2 shards"])
def cluster(request, start_shards):
    """The embedded store; and two external shards."""
    import persia_tf as ptf

    if request.param == "embedded":
        return ptf.Cluster.embedded()
    shards = start_shards(2)
    return ptf.Cluster([shard.address for shard in shards], timeout=20)


@pytest.fixture
def run_python(tmp_path):
    """Runs a program in another Python, in an empty folder; gives its output."""

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


@pytest.fixture
def run_workers(start_shards, tmp_path_factory):
    """Runs a program on several workers with new shards, named by TF_CONFIG."""

    def run(program: str, count: int = 2, shard_count: int = 2) -> list[Ended]:
        shards = [shard.address for shard in start_shards(shard_count)]
        return run_cluster(program, count, shards, tmp_path_factory.mktemp("workers"))

    return run
