"""How many bytes a looked-up and updated row takes on the wire, by dtype, dim and ids.

    python benchmarks/wire_bytes.py

Trains all ids of a table for some steps, and divides the bytes that the program sent
and received, with ids and headers, by the number of rows. Ids are drawn from 2**16 and
2**32 numbers, as dense ids are, and from 2**62, as 64-bit hashes are. The last line is
one JSON object.
"""

from __future__ import annotations

import argparse
import json
import random
import secrets
from typing import Any

import numpy as np
import tensorflow as tf
from shard_processes import running_shards

import persia_tf as ptf
from persia_tf.cluster import WIRE_DTYPES


def main() -> None:
    arguments = parse_arguments()
    with running_shards(arguments.shards) as shards:
        addresses = [shard.address for shard in shards]
        figures = [
            figures_of(dim, bits, addresses, arguments)
            for bits in arguments.id_bits
            for dim in arguments.dims
        ]
    setup = {name: getattr(arguments, name) for name in ("ids", "steps", "shards")}
    print(json.dumps({"benchmark": "wire_bytes", "figures": figures, "setup": setup}))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--dims", type=int, nargs="+", default=[8, 16, 32, 64, 128], metavar="N")
    add(
        "--id-bits",
        type=int,
        nargs="+",
        default=[16, 32, 62],
        metavar="N",
        help="ids are drawn from 2**N numbers",
    )
    add("--ids", type=int, default=4096, help="how many rows a step has")
    add("--steps", type=int, default=5)
    add("--shards", type=int, default=2)
    return parser.parse_args()


def figures_of(
    dim: int, id_bits: int, addresses: list[str], arguments: argparse.Namespace
) -> dict[str, Any]:
    """Returns the bytes of a row of this dim, and float32's over each dtype's."""
    row_bytes = {
        dtype: bytes_of_row(dim, id_bits, addresses, dtype, arguments)
        for dtype in WIRE_DTYPES
    }
    less = {dtype: row_bytes["float32"] / size for dtype, size in row_bytes.items()}
    for dtype, size in row_bytes.items():
        print(
            f"dim {dim}, ids of {id_bits} bits, {dtype}: {size:.1f} bytes, "
            f"{less[dtype]:.2f} times fewer"
        )
    return {
        "dim": dim,
        "id_bits": id_bits,
        "row_bytes": row_bytes,
        "float32_over": less,
    }


def bytes_of_row(
    dim: int,
    id_bits: int,
    addresses: list[str],
    dtype: str,
    arguments: argparse.Namespace,
) -> float:
    """Trains rows of a new table; returns the bytes each takes in a step."""
    # Each dtype needs a session of its own, hence a time-out of its own.
    cluster = ptf.Cluster(
        addresses,
        timeout=30 + WIRE_DTYPES.index(dtype),
        staleness=0,
        wire_dtype=dtype,
    )
    layer = ptf.layers.PersiaEmbedding(
        dim,
        table=f"table-{secrets.token_hex(4)}",
        cluster=cluster,
        optimizer=ptf.optimizers.SGD(0.1),
    )
    layer.build((None,))
    # Distinct ids, so that each of them is a row.
    numbers = random.Random(0).sample(range(2**id_bits), arguments.ids)
    ids = tf.constant(numbers, "int64")
    draw = np.random.default_rng(0)
    gradients = draw.normal(size=(arguments.ids, dim)).astype("float32")
    before = ptf.metrics()
    for _ in range(arguments.steps):
        push(layer, ids, gradients)
    cluster.flush()
    after = ptf.metrics()
    taken = sum(after[name] - before[name] for name in ("bytes_in", "bytes_out"))
    return taken / (arguments.ids * arguments.steps)


def push(layer: Any, ids: tf.Tensor, gradients: np.ndarray) -> None:
    """Makes one step in which the rows of `ids` get these gradients."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(ids, training=True) * gradients)
    variables = layer.trainable_variables
    optimizer = tf.keras.optimizers.SGD()
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))


if __name__ == "__main__":
    main()
