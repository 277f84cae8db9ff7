"""An API server of Kubernetes, with one StatefulSet, and the shards of its pods."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from http import server
from pathlib import Path

from harness import DEADLINE_SECONDS, ShardProcess, same_path

from persia_tf.processes.free_ports import free_ports

_PATH = "/apis/apps/v1/namespaces/persia/statefulsets/persia-ps"
_TOKEN = "token of the service account"


class ApiServer:
    """An API server, which ends with the `with` block.

    Args:
        folder: For the files of a pod's service account; made, if it is not there.
        tls: The files of its certificate, as of `Certificates.tls(...).get_config()`.

    Attributes:
        stateful_set: What it answers; None for an error 404.
        status: The error that it answers; 200 for none.
    """

    def __init__(self, folder: Path, tls: Mapping[str, str]) -> None:
        self.stateful_set: dict | None = {"metadata": {}, "spec": {"replicas": 2}}
        self.status = 200
        self.service_account = folder / "service-account"
        self.service_account.mkdir(parents=True)
        (self.service_account / "token").write_text(_TOKEN)
        (self.service_account / "namespace").write_text("persia")
        (self.service_account / "ca.crt").write_bytes(Path(tls["ca"]).read_bytes())
        self._http = server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls["certificate"], tls["key"])
        self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever)

    def scale(self, replicas: int) -> None:
        """Sets how many pods there are to be, as `kubectl scale` does."""
        self.stateful_set = {"metadata": {}, "spec": {"replicas": replicas}}

    @property
    def environment(self) -> dict[str, str]:
        """The variables that Kubernetes sets in pods."""
        host, port = self._http.server_address
        return {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": str(port)}

    def __enter__(self) -> ApiServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def _answer(self, path: str, authorization: str | None) -> tuple[int, dict]:
        if authorization != f"Bearer {_TOKEN}":
            return 401, {"message": "Unauthorized"}
        if self.status != 200:
            return self.status, {"message": "statefulsets is forbidden"}
        if path != _PATH or self.stateful_set is None:
            return 404, {"message": "not found"}
        return 200, self.stateful_set

    def _handler(self) -> type[server.BaseHTTPRequestHandler]:
        answer = self._answer

        class Handler(server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # noqa: N802
                status, found = answer(self.path, self.headers["Authorization"])
                body = json.dumps(found).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


class PodShard(ShardProcess):
    """The shard of a pod: at 127.0.1.N, where N is the pod's number.

    Args:
        folder: For its files, and its volume.
        ordinal: The pod's number.
        port: The port of all pods.
    """

    def __init__(self, folder: Path, ordinal: int, port: int) -> None:
        self._host = f"127.0.1.{ordinal}"
        super().__init__(
            folder,
            options=[f"--host={self._host}", f"--recovery-folder={folder}/volume"],
        )
        self.ordinal = ordinal
        self.port = port

    @property
    def address(self) -> str:
        return f"{self._host}:{self.port}"


class Pods:
    """The pods of a StatefulSet, and processes of `persia kubernetes` beside them.

    Args:
        folder: For the files of all.
        api: The API server.
    """

    def __init__(self, folder: Path, api: ApiServer) -> None:
        self.api = api
        self._folder = folder
        [self._port] = free_ports(1)
        self._shards: dict[int, PodShard] = {}
        self._commands: list[subprocess.Popen] = []

    def start(self, ordinal: int) -> PodShard:
        """Starts the shard of a pod, with the volume that the pod had before."""
        if ordinal not in self._shards:
            folder = self._folder / f"pod-{ordinal}"
            self._shards[ordinal] = PodShard(folder, ordinal, self._port)
        self._shards[ordinal].start()
        return self._shards[ordinal]

    def command(
        self, arguments: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen:
        """Starts `persia kubernetes` with a manifest's arguments.

        Names of pods are replaced by addresses of this machine.
        """
        names = "persia-ps-{ordinal}.persia-ps:7000"
        assert f"--address={names}" in arguments
        here = f"127.0.1.{{ordinal}}:{self._port}"
        started = subprocess.Popen(
            [
                *(sys.executable, "-m", "persia_tf"),
                *(each.replace(names, here) for each in arguments),
                f"--service-account={self.api.service_account}",
            ],
            env={**same_path(), **self.api.environment, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self._folder,
        )
        self._commands.append(started)
        return started

    def end(self) -> None:
        for command in self._commands:
            command.kill()
            command.communicate(timeout=DEADLINE_SECONDS)
        for shard in self._shards.values():
            shard.end()
