"""`persia serve` as a process."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request

import grpc
import pytest
import tensorflow as tf

WITHOUT = """
import sys
sys.modules["{library}"] = None
from persia_tf.commands import main
sys.argv = ["persia", "serve", "--model", ".", *{args!r}]
main.main()
"""

# `persia` that waits for requests for half a second when it ends. The arguments that
# start the fixture's own `persia` are removed.
IMPATIENT = """
import sys
from persia_tf.commands import main
from persia_tf.processes import signals
signals.DRAIN_SECONDS = 0.5
del sys.argv[1:3]
main.main()
"""


# `persia` that may have few open files. The arguments that start the fixture's own
# `persia` are removed.
FEW_FILES = """
import resource, sys
from persia_tf.commands import main
resource.setrlimit(resource.RLIMIT_NOFILE, (450, 450))
del sys.argv[1:3]
main.main()
"""


class Double(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec((None,), tf.float32, "x")])
    def double(self, x):
        return {"y": 2 * x}

    @tf.function(input_signature=[tf.TensorSpec((1,), tf.string, "path")])
    def wait(self, path):
        """Answers once the file exists."""
        found = tf.io.matching_files(path)
        while tf.size(found) == 0:
            found = tf.io.matching_files(path)
        return {"found": found}


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "double"
    module = Double()
    signatures = {"serving_default": module.double, "wait": module.wait}
    tf.saved_model.save(module, str(path / "1"), signatures)
    return path


@pytest.fixture
def start(persia, tmp_path, wait_until):
    """Starts a server; gives the command, and the ports that its port file has."""

    def run(*args, **options):
        ports = tmp_path / "ports"
        command = persia(
            *("serve", "--grpc-port=0", "--rest-port=0", "--poll-seconds=0.05"),
            *("--port-file", ports, *args),
            **options,
        )
        wait_until(lambda: ports.exists() or not command.running, "the port file")
        assert command.running, command.stderr
        return command, [int(line) for line in ports.read_text().split()]

    return run


def predict(port, name, x, signature="serving_default"):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/models/{name}:predict",
        json.dumps({"signature_name": signature, "instances": x}).encode(),
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.loads(response.read())["predictions"]


def test_it_serves_until_it_is_told_to_stop(start, model, terminate):
    command, (grpc_port, rest_port) = start("--model", model)
    command.wait_for(r"Version 1 serves")
    assert predict(rest_port, "double", [1, 2.5]) == [2, 5]
    (log,) = command.wait_for(r"gRPC is listening on (\S+); REST on (\S+)")
    assert log[1] == f"127.0.0.1:{grpc_port}" and log[2] == f"127.0.0.1:{rest_port}"
    assert terminate(command) == 0
    assert "finishing requests in flight" in command.stderr
    assert command.stderr.rstrip().endswith("Stopped")


@pytest.fixture
def ask_to_wait(wait_until):
    """Sends a request that waits for a file; gives its answers and its thread."""
    threads = []

    def ask(port, file):
        answers, metrics = [], f"http://127.0.0.1:{port}/metrics"

        def run():
            try:
                answers.extend(predict(port, "double", [str(file)], signature="wait"))
            except (OSError, http.client.HTTPException) as error:
                answers.append(error)

        threads.append(threading.Thread(target=run))
        threads[-1].start()

        def is_under_way():
            with urllib.request.urlopen(metrics, timeout=60) as page:
                return "persia_serve_requests_under_way 1" in page.read().decode()

        wait_until(is_under_way, "the request")
        return answers, threads[-1]

    yield ask
    for thread in threads:
        thread.join(60)


def test_requests_under_way_are_answered_before_it_ends(
    start, model, tmp_path, ask_to_wait
):
    command, (_, rest_port) = start("--model", model)
    command.wait_for(r"Version 1 serves")
    file = tmp_path / "file"
    answers, asking = ask_to_wait(rest_port, file)
    command.send(signal.SIGTERM)
    command.wait_for("finishing requests in flight")
    assert command.running and not answers
    file.touch()
    assert command.wait() == 0
    asking.join(60)
    assert answers == [str(file)]
    assert "cut off" not in command.stderr


def test_a_request_that_does_not_end_does_not_keep_it(
    start, model, tmp_path, ask_to_wait, terminate
):
    command, (_, rest_port) = start(
        *("--model", model), python_options=("-c", IMPATIENT)
    )
    command.wait_for(r"Version 1 serves")
    answers, asking = ask_to_wait(rest_port, tmp_path / "none")
    assert terminate(command) == 0
    assert "Requests in flight were cut off, after at most 0.5 s" in command.stderr
    assert command.stderr.rstrip().endswith("Stopped")
    asking.join(60)
    [answer] = answers
    assert isinstance(answer, (OSError, http.client.HTTPException))


def test_idle_connections_keep_nobody_out(start, model):
    command, (grpc_port, rest_port) = start(
        *("--model", model), python_options=("-c", FEW_FILES)
    )
    command.wait_for(r"Version 1 serves")
    with contextlib.ExitStack() as stack:
        for _ in range(600):
            for port in (grpc_port, rest_port):
                place = ("127.0.0.1", port)
                stack.enter_context(socket.create_connection(place, timeout=60))
        health = f"http://127.0.0.1:{rest_port}/healthz"
        with urllib.request.urlopen(health, timeout=60) as answer:
            assert answer.read() == b"ok\n"
        assert predict(rest_port, "double", [1]) == [2]
        # gRPC refuses connections beyond its limit, and ends those that send nothing.
        with grpc.insecure_channel(f"127.0.0.1:{grpc_port}") as channel:
            check = channel.unary_unary("/grpc.health.v1.Health/Check")
            assert check(b"", timeout=60, wait_for_ready=True) == b"\x08\x01"
    assert "open files" in command.stderr
    assert len(command.stderr) < 10_000


def test_versions_come_while_it_runs(start, model, tmp_path):
    whole = (model / "1").rename(tmp_path / "whole")
    command, (_, rest_port) = start("--model", model, "--name=other")
    whole.rename(model / "7")
    command.wait_for(r"Version 7 serves")
    assert predict(rest_port, "other", [1]) == [2]


def test_it_takes_its_parent_and_no_stranger(start, model, persia):
    command, _ = start("--model", model, "--parent", os.getpid())
    assert command.running
    command.send(signal.SIGINT)
    assert command.wait() == 0
    stranger = persia("serve", "--model", model, "--parent", 1)
    assert stranger.wait() == 1
    assert "--parent must be the parent process" in stranger.stderr


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        ([], 2, "--model"),
        (["--model=.", "--poll-seconds=0"], 2, "must be above 0"),
        (["--model=.", "--poll-seconds=nan"], 2, "must be above 0"),
        (["--model=.", "--request-seconds=1e7"], 2, "at most 1e+06, got 1e7"),
        (["--model=.", "--batch-timeout-ms=inf"], 2, "from 0 to 1e+09, got inf"),
        (["--model=.", "--batch-timeout-ms=-1"], 2, "from 0 to 1e+09, got -1"),
        (["--model=.", "--max-message-bytes=2GiB"], 2, "at most 2147483647 bytes"),
        (["--model=.", "--max-body-bytes=2GiB"], 2, "at most 2147483647 bytes"),
        (["--model=.", "--body-memory=2TiB"], 2, "at most 1099511627776 bytes"),
        (["--model=.", "--max-connections=0"], 2, "from 1 to 1048576, got 0"),
        (["--model=.", "--idle-seconds=0"], 2, "must be above 0"),
        (["--model=.", "--threads=0"], 2, "from 1 to 4096, got 0"),
        (["--model=.", "--max-requests=4097"], 2, "from 1 to 4096, got 4097"),
        (["--model=/no/such/folder"], 1, "there is no folder /no/such/folder"),
        ([f"--model={__file__}"], 1, f"{__file__} is a file"),
        ([f"--model={__file__}"], 1, "write one by ptf.serving.export"),
        (
            ["--model=.", "--versions=x"],
            2,
            'argument --versions: the versions to serve must be "all"',
        ),
        (["--model=.", "--host=0.0.0.0"], 1, "give --insecure"),
    ],
)
def test_a_wrong_command_line_is_explained(persia, args, code, told):
    command = persia("serve", *args)
    assert command.wait() == code
    assert told in command.stderr and "Traceback" not in command.stderr


def refusal_without(library, *args, code=1):
    """The error of a command in an environment without `library`."""
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(library=library, args=args)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == code
    assert "Traceback" not in ended.stderr
    return ended.stderr


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (["--versions=x"], 2, '"latest:N"'),
        (["--host=0.0.0.0"], 1, "give --insecure"),
        (["--model=/no/such/folder"], 1, "there is no folder"),
        (["--name=a/b"], 1, "no / or :"),
    ],
)
def test_options_are_checked_before_tensorflow_is_imported(args, code, told):
    assert told in refusal_without("tensorflow", *args, code=code)


@pytest.mark.parametrize("library", ["aiohttp", "tensorflow_serving"])
def test_a_missing_library_is_explained(library):
    assert "pip install 'persia_tf[serving]'" in refusal_without(library)
