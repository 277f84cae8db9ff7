"""How long requests with maliciously chosen ids take, over those with random ids.

    python benchmarks/chosen_ids.py
    python benchmarks/chosen_ids.py --ids 20000 --turns 3

The code of the hash in cc/base/hash.h is public. The ids are chosen so that all of them
would collide in a table that used this hash without a seed. The C++ program in
benchmarks/chosen_ids measures their deduplication, and how a table creates, looks up
and updates their rows. Then it measures predictions of a `persia serve` whose model
asks a shard, over REST and gRPC. Each turn requests random and chosen ids, one
after the other; figures are medians of the turns' ratios. Exits with status 1 if a
ratio is above 3. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

import grpc
import native_programs
import numpy as np
import tensorflow as tf
from serve_process import Server, running_server
from shard_processes import running_shards
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc
from w1_model import versions

import persia_tf as ptf
from persia_tf._keras import keras

DIM = 16
MOST = 3.0  # The largest accepted ratio of chosen to random ids.
CHOSEN = ("lower_bits", "upper_bits", "sub_shard")
NAME = "chosen"
SECONDS = 600  # The time-out of a request.


def native_figures(program: pathlib.Path, ids: int, turns: int) -> dict[str, float]:
    """Returns the figures that the C++ program measures."""
    ran = subprocess.run(
        [str(program), str(ids), str(turns)], stdout=subprocess.PIPE, text=True
    )
    if ran.returncode:
        raise SystemExit(f"chosen_ids ended with status {ran.returncode}")
    return dict(json.loads(ran.stdout)["figures"])


def ids_of(program: pathlib.Path, name: str, count: int) -> np.ndarray:
    """Returns ids of one of the kinds that the C++ program generates."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / name
        subprocess.run([str(program), name, str(count), str(path)], check=True)
        return np.fromfile(path, np.int64)


def export(path: pathlib.Path, cluster: ptf.Cluster) -> None:
    """Exports a model of variable-length id lists whose rows stay on shards."""
    ids = keras.Input((None,), dtype="int64", name="ids")
    vectors = ptf.layers.PersiaEmbedding(DIM, table="chosen", cluster=cluster)(ids)
    score = keras.layers.Dense(1)(keras.layers.GlobalAveragePooling1D()(vectors))
    model = keras.Model(ids, score)
    model(np.arange(100, dtype=np.int64)[np.newaxis], training=True)
    ptf.serving.export(model, path, mode="remote")


def rest_asker(place: str, ids: np.ndarray) -> Callable[[], Any]:
    """Returns a function that requests a prediction over REST."""
    request = urllib.request.Request(
        f"http://{place}/v1/models/{NAME}:predict",
        json.dumps({"instances": [ids.tolist()]}).encode(),
        {"Content-Type": "application/json"},
    )

    def ask() -> Any:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return answer.read()

    return ask


def grpc_asker(place: str, ids: np.ndarray) -> Callable[[], Any]:
    """Returns a function that requests a prediction over gRPC."""
    service = prediction_service_pb2_grpc.PredictionServiceStub(
        grpc.insecure_channel(place)
    )
    request = predict_pb2.PredictRequest()
    request.model_spec.name = NAME
    request.inputs["ids"].CopyFrom(tf.make_tensor_proto(ids[np.newaxis]))
    return lambda: service.Predict(request, timeout=SECONDS, wait_for_ready=True)


def seconds_of(ask: Callable[[], Any]) -> float:
    """Returns how long a call takes."""
    begin = time.monotonic()
    ask()
    return time.monotonic() - begin


def served_figures(
    server: Server, kinds: Mapping[str, np.ndarray], turns: int
) -> dict[str, float]:
    """Returns the time of predictions, by kind of ids, over that with random ids."""
    figures = {}
    for api, asker in {"rest": rest_asker, "grpc": grpc_asker}.items():
        asks = {name: asker(getattr(server, api), ids) for name, ids in kinds.items()}
        asks["random"]()  # Warm-up: the first request is slower.
        ratios: dict[str, list[float]] = {name: [] for name in CHOSEN}
        plain = []
        for _ in range(turns):
            plain.append(seconds_of(asks["random"]))
            for name in CHOSEN:
                ratios[name].append(seconds_of(asks[name]) / plain[-1])
        for name, turn in ratios.items():
            figures[f"serve_{api}_{name}_over_random"] = statistics.median(turn)
        figures[f"serve_{api}_random_ms"] = 1e3 * statistics.median(plain)
    return figures


def wait_until_served(server: Server) -> None:
    """Waits until the model is served."""
    ask = rest_asker(server.rest, np.arange(3))
    give_up = time.monotonic() + SECONDS
    while True:
        try:
            return ask()
        except OSError:  # The model is not served yet.
            if time.monotonic() > give_up:
                raise
            time.sleep(0.05)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--ids", type=int, default=160_000, help="ids per request (%(default)s)")
    add("--turns", type=int, default=9, help="figures are their medians (%(default)s)")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.ids, arguments.turns = 5000, 2
    return arguments


def main() -> None:
    arguments = parse_arguments()
    load = os.getloadavg()[0]
    program = native_programs.build("chosen_ids")
    figures = native_figures(program, arguments.ids, arguments.turns)
    kinds = {n: ids_of(program, n, arguments.ids) for n in ("random", *CHOSEN)}
    with running_shards(1) as [shard], tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model"
        export(path / "1", ptf.Cluster([shard.address]))
        with running_server(path, NAME, ["--log-level=warning"]) as server:
            wait_until_served(server)
            figures.update(served_figures(server, kinds, arguments.turns))
    for name, value in figures.items():
        print(f"{name:42} {value:10.4g}")
    setup = {
        "ids": arguments.ids,
        "turns": arguments.turns,
        # Load by other programs: about 0 on an otherwise idle machine.
        "load_average_before": round(load, 2),
        **native_programs.machine(),
        **versions(),
    }
    said = {"benchmark": "chosen_ids", "figures": figures, "setup": setup}
    print(json.dumps(said))
    over = [n for n, value in figures.items() if "_over_" in n and value > MOST]
    if over and not arguments.quick:  # A quick run is too short to judge.
        raise SystemExit(f"above {MOST}: {', '.join(over)}")


if __name__ == "__main__":
    main()
