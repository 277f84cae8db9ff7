"""Set-ups with names, each of whose values says where it comes from."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from persia_tf.simulation.fields import FIELDS, OPERATION_FIELDS, SETUP_FIELDS
from persia_tf.simulation.operation import Operation
from persia_tf.simulation.setup import Setup

GIVEN, MEASURED, ASSUMED = "given", "measured", "assumed"


@dataclasses.dataclass(frozen=True)
class Value:
    """A value, and where it comes from.

    Attributes:
        value: The value.
        source: "given", "measured" or "assumed".
        why: Who gives it, how it was measured, or why it is assumed.
    """

    value: Any
    source: str
    why: str


@dataclasses.dataclass(frozen=True)
class Example:
    """A set-up and its operation.

    Attributes:
        name: What `persia simulate --example` calls it.
        title: What it is, in a line.
        values: The value of each attribute of `Setup` and `Operation`.
    """

    name: str
    title: str
    values: Mapping[str, Value]

    @property
    def setup(self) -> Setup:
        """The set-up."""
        return Setup(**_of(self.values, SETUP_FIELDS))

    @property
    def operation(self) -> Operation:
        """How it is run."""
        return Operation(**_of(self.values, OPERATION_FIELDS))


def defaults() -> dict[str, Value]:
    """Returns the defaults of `Setup` and `Operation`, which are all assumed."""
    plain = {**dataclasses.asdict(Setup()), **dataclasses.asdict(Operation())}
    return {
        field.name: Value(plain[field.name], ASSUMED, _DEFAULTS.get(field.name, _ONE))
        for field in FIELDS
    }


def examples() -> dict[str, Example]:
    """Returns all examples by name."""
    made = (_paper(), _this_machine(), _gpus(), _trillion(), _workers())
    return {example.name: example for example in made}


def _of(values: Mapping[str, Value], fields: tuple[Any, ...]) -> dict[str, Any]:
    return {field.name: values[field.name].value for field in fields}


def _example(name: str, title: str, **values: tuple[Any, str, str]) -> Example:
    made = defaults()
    made.update((key, Value(*value)) for key, value in values.items())
    return Example(name, title, made)


_ONE = "the default"
_DEFAULTS = {
    "busiest": "all shards are as busy: ids are spread by a hash",
    "slowest": "no shard is slower than others",
    "in_memory": "all rows are in memory, as they are in this store",
    "staleness": "the default of a cluster",
    "checkpoint_minutes": "once an hour",
    "days_between_failures": "each machine fails once a year",
    "restart_minutes": "a program starts, imports TensorFlow and traces its step",
    "recovery": "the default of `persia ps --recovery-folder`",
    "open_files": "the hard limit that systemd gives a process",
    "timeout_seconds": "the default of Cluster(timeout=)",
    "stored_weight_bytes": "float32, the default of layers",
    "workers": "trainers ask the shards themselves",
    "proxies": "a network has none",
}

# A step that several examples share.
_CLICKS: dict[str, tuple[Any, str, str]] = {
    "tables": (26, ASSUMED, "the features of Criteo's click data"),
    "examples": (4096, ASSUMED, "a usual batch"),
    "ids": (26.0 * 4096, ASSUMED, "an id for each example and table"),
    "rows": (
        25_302.0,
        ASSUMED,
        "the distinct ids of such a batch by Zipf's law with exponent 1.05 "
        "(docs/checkpoints.md)",
    ),
    "layers": (1, ASSUMED, "PersiaEmbeddings(joined=True)"),
}


def _paper() -> Example:
    dim, parameters = 128, 100e12
    return _example(
        "paper",
        "PERSIA's capacity set-up: 100T parameters on 30 shards of 12 TB, 64 GPUs",
        **{
            **_CLICKS,
            "trainers": (64, GIVEN, "64 GPUs, each with a training program"),
            "shards": (30, GIVEN, "30 shards"),
            "shard_bytes": (12e12, GIVEN, "12 TB each"),
            "dim": (
                dim,
                ASSUMED,
                "not given; it sets how many rows 100T parameters are",
            ),
            "table_rows": (
                parameters / dim,
                ASSUMED,
                "the 100T parameters that are given, over the assumed weights per row",
            ),
            "stored_weight_bytes": (
                2.0,
                ASSUMED,
                "float16: 100T float32 are 400 TB, more than the 360 TB of all shards",
            ),
            "state_bytes": (
                4.0,
                ASSUMED,
                "RowWiseAdagrad, a number per row: not given, and one per weight would "
                "not fit",
            ),
            "dense_seconds": (0.05, ASSUMED, "not given"),
            "dense_cores": (0.0, ASSUMED, "the dense part is on the GPU"),
            "dense_bytes": (40e6, ASSUMED, "not given: 10 million dense weights"),
            "same_machine": (False, ASSUMED, "each program is on a machine of its own"),
            "cores": (16, ASSUMED, "cores of each program, not given"),
            "network_bytes_per_second": (
                100e9 / 8 / 8,
                ASSUMED,
                "not given: 100 Gb/s of a machine, which 8 GPUs share",
            ),
            "delay_seconds": (50e-6, ASSUMED, "not given: machines of one data centre"),
        },
    )


def _this_machine() -> Example:
    return _example(
        "this-machine",
        "the benchmarks' click model (W1) on one machine: 2 cores, 2 shards",
        **{
            **_CLICKS,
            "examples": (4096, GIVEN, "W1's batch (benchmarks/workload_w1.py)"),
            "ids": (26.0 * 4096, GIVEN, "W1 has 26 tables of an id each"),
            "rows": (25_302.0, MEASURED, "benchmarks/increment_bytes.py"),
            "tables": (26, GIVEN, "W1"),
            "trainers": (1, GIVEN, "one program"),
            "shards": (2, GIVEN, "two shards"),
            "cores": (2, GIVEN, "2 virtual cores"),
            "same_machine": (True, GIVEN, "one machine"),
            "dim": (16, GIVEN, "W1"),
            "state_bytes": (64.0, GIVEN, "Adagrad, a float32 per weight"),
            "table_rows": (1e7, GIVEN, "W1"),
            "dense_seconds": (0.03, ASSUMED, "a few small dense layers"),
            "dense_cores": (1.6, ASSUMED, "TensorFlow uses both cores in part"),
        },
    )


def _gpus() -> Example:
    return _example(
        "gpus",
        "8 GPU machines and 4 shards of 256 GiB, on 25 Gb/s",
        **{
            **_CLICKS,
            "trainers": (8, GIVEN, "8 trainers"),
            "shards": (4, GIVEN, "4 shards"),
            "shard_bytes": (float(256 << 30), ASSUMED, "machines of 320 GB"),
            "dim": (64, ASSUMED, "a usual width"),
            "table_rows": (1e9, ASSUMED, "a billion ids"),
            "state_bytes": (256.0, ASSUMED, "Adagrad, a float32 per weight"),
            "dense_seconds": (0.02, ASSUMED, "a DLRM of a few million weights"),
            "dense_cores": (0.0, ASSUMED, "the dense part is on the GPU"),
            "dense_bytes": (20e6, ASSUMED, "5 million dense weights"),
            "same_machine": (False, GIVEN, "machines of a network"),
            "cores": (16, ASSUMED, "a usual machine"),
            "network_bytes_per_second": (25e9 / 8, GIVEN, "25 Gb/s"),
            "delay_seconds": (50e-6, ASSUMED, "machines of one data centre"),
        },
    )


def _trillion() -> Example:
    dim, parameters = 64, 1e12
    return _example(
        "trillion",
        "1T parameters on 16 shards of 768 GiB, 16 GPUs",
        **{
            **_CLICKS,
            "trainers": (16, ASSUMED, "as many GPUs as shards"),
            "shards": (16, GIVEN, "16 shards"),
            "shard_bytes": (float(768 << 30), ASSUMED, "machines of 1 TB"),
            "dim": (dim, ASSUMED, "a usual width"),
            "table_rows": (parameters / dim, GIVEN, "1T parameters, over `dim`"),
            "state_bytes": (256.0, ASSUMED, "Adagrad, a float32 per weight"),
            "dense_seconds": (0.02, ASSUMED, "a DLRM of a few million weights"),
            "dense_cores": (0.0, ASSUMED, "the dense part is on the GPU"),
            "dense_bytes": (20e6, ASSUMED, "5 million dense weights"),
            "same_machine": (False, ASSUMED, "machines of a network"),
            "cores": (32, ASSUMED, "a usual machine of 1 TB"),
            "network_bytes_per_second": (100e9 / 8, ASSUMED, "100 Gb/s"),
            "delay_seconds": (50e-6, ASSUMED, "machines of one data centre"),
        },
    )


def _workers() -> Example:
    return _example(
        "workers",
        "256 CPU trainers behind 16 embedding workers, 32 shards, 10 Gb/s",
        **{
            **_CLICKS,
            "trainers": (256, ASSUMED, "many small machines"),
            "workers": (16, ASSUMED, "one for 16 trainers"),
            "shards": (32, ASSUMED, "one for 8 trainers"),
            "examples": (512, ASSUMED, "small batches, since there are many"),
            "ids": (26.0 * 512, ASSUMED, "an id for each example and table"),
            "rows": (6_000.0, ASSUMED, "about half of the ids are distinct"),
            "shard_bytes": (float(128 << 30), ASSUMED, "machines of 160 GB"),
            "dim": (32, ASSUMED, "a usual width"),
            "table_rows": (5e9, ASSUMED, "five billion ids"),
            "state_bytes": (128.0, ASSUMED, "Adagrad, a float32 per weight"),
            "dense_seconds": (0.1, ASSUMED, "a dense part on a CPU"),
            "dense_cores": (4.0, ASSUMED, "half of the cores"),
            "dense_bytes": (4e6, ASSUMED, "a million dense weights"),
            "same_machine": (False, ASSUMED, "machines of a network"),
            "cores": (8, ASSUMED, "small machines"),
            "network_bytes_per_second": (10e9 / 8, ASSUMED, "10 Gb/s"),
            "delay_seconds": (100e-6, ASSUMED, "machines of one data centre"),
        },
    )
