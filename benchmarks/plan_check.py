"""How far `ptf.plan` is off what a run really needs.

    python benchmarks/plan_check.py
    python benchmarks/plan_check.py --quick
    python benchmarks/plan_check.py --only criteo movielens
    python benchmarks/plan_check.py --write

For each set-up of plan_setups.py, shards are started, a model is planned from the first
20% of the steps, and trained on all of them. Then what the plan said is compared with
what the shards report, and with the time of a step. Figures, as relative errors:

    rows         the rows of the table of which the plan was furthest off
    all_rows     the rows of all tables together
    memory       the bytes of all tables on all shards
    sent         the bytes of a step that the program sends; from the counters of the
                 steps after the sample
    received     the bytes of a step that the program receives
    requests     the requests of a step
    busy_rows    the rows of the shard with the most over the mean
    busy_ids     the ids of the shard with the most over the mean, in these steps
    busy_bytes   the bytes of the shard with the most over the mean, in these steps
    checkpoint   the bytes of a checkpoint
    step         the time of a step, with a staleness of 0, after all other figures: the
                 median of some turns, in each of which it is planned from the sample,
                 and then measured

Real data are read from $PERSIA_TF_DATA; set-ups of data that are not there are left
out. The last line is one JSON object. `--write` writes the table into docs/planning.md.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import plan_setups
import tensorflow as tf
from results_file import write_section
from shard_processes import running_shards

import persia_tf as ptf
from persia_tf import stats
from persia_tf.client import session
from persia_tf.planning.step_clock import StepClock

# Keras says that it does not shuffle datasets.
warnings.filterwarnings("ignore", message=".*shuffle=True.*")

_PAGE = Path(__file__).resolve().parents[1] / "docs" / "planning.md"
_SAMPLE = 0.2
_ENDLESS = 10**6
_OTHER_TIMEOUT = 61.0
_COLUMNS = (
    *("rows", "all_rows", "memory", "sent", "received", "requests"),
    *("busy_rows", "busy_ids", "busy_bytes", "checkpoint", "step"),
)


def main() -> None:
    arguments = parse_arguments()
    checked: dict[str, dict[str, Any]] = {}
    print(line("set-up", ["shards", *_COLUMNS]))
    for name, setup in chosen(arguments).items():
        try:
            found = check(name, setup, arguments)
        except SystemExit as error:  # The data are not there.
            print(f"{name}: left out. {error}", file=sys.stderr)
            continue
        checked[name] = {"shards": setup.shards, **found}
        errors = [f"{found['errors'][column]:+.1%}" for column in _COLUMNS]
        print(line(name, [str(setup.shards), *errors]), flush=True)
    figures = summary(checked)
    for label, index in (("worst", "worst"), ("median", "median")):
        print(line(label, ["", *(f"{figures[c][index]:.1%}" for c in _COLUMNS)]))
    if arguments.write:
        write_section("plan_check", markdown(checked, figures), _PAGE)
    print(
        json.dumps(
            {
                "benchmark": "plan_check",
                "figures": figures,
                "setups": checked,
                "setup": {"sample": _SAMPLE, "seed": arguments.seed},
            }
        )
    )


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--only", nargs="+", metavar="NAME", help="the set-ups with these names")
    add("--seed", type=int, default=7, help="of generated data (%(default)s)")
    add("--turns", type=int, default=3, help="of the step's time (%(default)s)")
    add("--verbose", action="store_true", help="also print each plan")
    add("--quick", action="store_true", help="only a smoke test")
    add("--write", action="store_true", help="write the table into docs/planning.md")
    return parser.parse_args()


def chosen(arguments: argparse.Namespace) -> dict[str, plan_setups.Setup]:
    known = plan_setups.setups()
    if arguments.only:
        return {name: known[name] for name in arguments.only}
    if arguments.quick:
        return {name: each for name, each in known.items() if name.startswith("quick")}
    return known


def line(name: str, cells: list[str]) -> str:
    return f"{name:21}" + "".join(f"{cell:>11}" for cell in cells)


def check(
    name: str, setup: plan_setups.Setup, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Plans and trains a set-up; returns predictions, measurements and errors."""
    columns = setup.columns(arguments.seed)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        shards = stack.enter_context(
            running_shards(setup.shards, ["--checkpoint-root", folder])
        )
        addresses = [shard.address for shard in shards]
        stack.callback(session.close_sessions_of, addresses)
        cluster = ptf.Cluster(addresses, **setup.options)
        model = model_of(setup, cluster)
        sampled = round(setup.steps * _SAMPLE)
        begun = time.monotonic()
        plan = ptf.plan(
            model,
            dataset_of(columns, setup).take(sampled),
            run_steps=setup.steps,
            shards=setup.shards,
        )
        seconds = time.monotonic() - begun
        if arguments.verbose:
            print(plan, file=sys.stderr)
        model.fit(dataset_of(columns, setup).take(sampled), verbose=0)
        measured = dict(train(model, dataset_of(columns, setup).skip(sampled), cluster))
        measured.update(at_end(cluster, folder))
        turns = 1 if arguments.quick else arguments.turns
        steps = [step_of(setup, model, addresses, columns) for _ in range(turns)]
    return compared(plan, measured, steps, seconds)


@dataclasses.dataclass(frozen=True)
class Step:
    """The time of a step, in seconds.

    Attributes:
        predicted: As the plan says.
        measured: As it was measured just after the plan.
    """

    predicted: float
    measured: float


def step_of(
    setup: plan_setups.Setup,
    model: Any,
    addresses: list[str],
    columns: plan_setups.Columns,
) -> Step:
    """Plans, and measures, the time of a step."""
    plan = ptf.plan(
        model,
        dataset_of(columns, setup).take(round(setup.steps * _SAMPLE)),
        run_steps=setup.steps,
        shards=setup.shards,
        time=True,
        staleness=0,
    )
    planned = plan.shards[-1].times.step_seconds
    return Step(planned, step_seconds(setup, addresses, columns))


def step_seconds(
    setup: plan_setups.Setup, addresses: list[str], columns: plan_setups.Columns
) -> float:
    """Trains for some seconds with a staleness of 0; returns the time of a step."""
    # A session has one staleness: another timeout makes another session.
    synchronous = ptf.Cluster(
        addresses, **{**setup.options, "staleness": 0, "timeout": _OTHER_TIMEOUT}
    )
    model = model_of(setup, synchronous)
    clock = StepClock()
    model.fit(
        dataset_of(columns, setup).repeat(),
        steps_per_epoch=_ENDLESS,
        verbose=0,
        callbacks=[clock],
    )
    return clock.timed().seconds


def model_of(setup: plan_setups.Setup, cluster: ptf.Cluster) -> Any:
    inputs, vectors = {}, []
    for name, feature in setup.features.items():
        shape = (feature.bag,) if feature.bag else ()
        inputs[name] = tf.keras.Input(shape, dtype="int64", name=name)
        layer = ptf.layers.PersiaEmbedding(
            feature.dim,
            table=feature.table or name,
            cluster=cluster,
            **feature.options,
        )
        vectors.append(layer(inputs[name]))
    joined = vectors[0] if len(vectors) == 1 else tf.keras.layers.concatenate(vectors)
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(joined))
    model.compile(setup.optimizer, "mse")
    return model


def dataset_of(columns: plan_setups.Columns, setup: plan_setups.Setup) -> Any:
    examples = len(next(iter(columns.values())))
    labels = np.zeros((examples, 1), np.float32)
    whole = tf.data.Dataset.from_tensor_slices((columns, labels))
    return whole.batch(setup.batch, drop_remainder=True)


def train(model: Any, rest: Any, cluster: ptf.Cluster) -> Iterator[tuple[str, float]]:
    """Trains the steps after the sample; yields what they took."""
    cluster.flush()
    shards_before, before = cluster.shard_stats(), ptf.metrics()
    model.fit(rest, verbose=0)
    cluster.flush()
    after, shards_after = ptf.metrics(), cluster.shard_stats()
    steps = int(rest.cardinality())
    for name, counter in (
        ("sent", "bytes_out"),
        ("received", "bytes_in"),
        ("requests", "requests"),
    ):
        # Asking for the counters takes requests, too.
        yield name, (after[counter] - before[counter]) / steps
    ids, size = zip(
        *(
            (looked_up(end) - looked_up(begin), traffic(end) - traffic(begin))
            for begin, end in zip(shards_before, shards_after)
        )
    )
    yield "busy_ids", max(ids) / statistics.mean(ids)
    yield "busy_bytes", max(size) / statistics.mean(size)


def looked_up(shard: stats.ProcessStats) -> int:
    return sum(table.rows_looked_up for table in shard.tables)


def traffic(shard: stats.ProcessStats) -> int:
    return shard.bytes_in + shard.bytes_out


def at_end(cluster: ptf.Cluster, folder: str) -> dict[str, Any]:
    """Returns what the shards hold at the end of the run."""
    shards = cluster.shard_stats()
    rows: dict[str, int] = {}
    for shard in shards:
        for table in shard.tables:
            rows[table.name] = rows.get(table.name, 0) + table.rows
    of_shards = [sum(table.rows for table in shard.tables) for shard in shards]
    memory = sum(table.bytes for shard in shards for table in shard.tables)
    saved = ptf.checkpoint.save(os.path.join(folder, "saved"), cluster=cluster)
    return {
        "rows": rows,
        "all_rows": sum(of_shards),
        "memory": memory,
        "busy_rows": max(of_shards) / max(statistics.mean(of_shards), 1),
        "checkpoint": sum(file.stat().st_size for file in Path(saved.folder).iterdir()),
    }


def compared(
    plan: ptf.Plan, measured: dict[str, Any], steps: list[Step], seconds: float
) -> dict[str, Any]:
    """Returns predictions, measurements, relative errors, and which rows are within."""
    (shards,) = plan.shards
    rows = measured.pop("rows")
    predicted = {
        "all_rows": plan.rows.value,
        "memory": shards.bytes.value,
        "sent": shards.bytes_out,
        "received": shards.bytes_in,
        "requests": shards.requests,
        "busy_rows": shards.busiest_rows,
        "busy_ids": shards.busiest_ids,
        "busy_bytes": shards.busiest_bytes,
        "checkpoint": shards.checkpoint_bytes.value,
    }
    errors = {name: predicted[name] / measured[name] - 1 for name in predicted}
    by_table = {
        table.name: table.rows.value / max(rows[table.name], 1) - 1
        for table in plan.tables
    }
    errors["rows"] = max(by_table.values(), key=abs)
    errors["step"] = statistics.median(e.predicted / e.measured - 1 for e in steps)
    within = [
        table.rows.low <= rows[table.name] <= table.rows.high for table in plan.tables
    ]
    return {
        "predicted": predicted,
        "measured": measured,
        "errors": errors,
        "errors_of_tables": by_table,
        "laws": {table.name: table.law for table in plan.tables},
        "rows_within": statistics.mean(within),
        "steps": [dataclasses.asdict(each) for each in steps],
        "plan_seconds": seconds,
    }


def summary(checked: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Returns the worst and the median magnitude of each error."""
    figures: dict[str, Any] = {}
    for column in _COLUMNS:
        sizes = {name: abs(found["errors"][column]) for name, found in checked.items()}
        worst = max(sizes, key=lambda name: sizes[name])
        figures[column] = {
            "worst": sizes[worst],
            "of": worst,
            "median": statistics.median(sizes.values()),
        }
    figures["rows_within"] = statistics.mean(
        found["rows_within"] for found in checked.values()
    )
    return figures


def markdown(
    checked: Mapping[str, Mapping[str, Any]], figures: Mapping[str, Any]
) -> str:
    """Returns the section of docs/planning.md.

    Args:
        checked: What `check` found of each set-up, and its number of shards.
        figures: Their summary.
    """
    magnitudes = [
        ["", label, *(f"{figures[column][index]:.1%}" for column in _COLUMNS)]
        for label, index in (("the worst", "worst"), ("the median", "median"))
    ]
    rows = [
        ["set-up", "shards", *(column.replace("_", " ") for column in _COLUMNS)],
        ["---"] * (len(_COLUMNS) + 2),
        *(
            [
                name,
                str(found["shards"]),
                *(f"{found['errors'][column]:+.1%}" for column in _COLUMNS),
            ]
            for name, found in checked.items()
        ),
        *magnitudes,
    ]
    return "\n".join(
        [
            f"Of the intervals of rows, {figures['rows_within']:.0%} hold the measured "
            "number; they are meant to hold 95%.",
            "",
            *(f"| {' | '.join(cells)} |" for cells in rows),
        ]
    )


if __name__ == "__main__":
    main()
