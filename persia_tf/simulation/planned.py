"""What a plan says of a set-up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from persia_tf.simulation.examples import GIVEN, Value

# Bytes of a stored weight, by `row_dtype`. Rows of int8 have a scale besides, which is
# counted as their state.
_WEIGHT_BYTES = {"float32": 4.0, "float16": 2.0, "bfloat16": 2.0, "int8": 1.0}

_DENSE = {"dense_seconds": "own_step_seconds", "dense_cores": "own_step_cores"}


def values_of_plan(plan: Mapping[str, Any], shards: int) -> dict[str, Value]:
    """Returns the values that a plan gives.

    Tables of different widths are taken for as many of their mean width, by how many
    rows of each a step looks up. A plan with times gives the dense part as well: it is
    what the plan calls the model's own part of a step, with that number of shards.

    Args:
        plan: What `Plan.to_dict` returned.
        shards: The number of shards that is simulated.
    """
    tables = plan["tables"]
    rows = sum(table["ids_per_step"] for table in tables)
    lookups = sum(table["lookups"] for table in tables)
    stored = sum(table["rows"]["value"] for table in tables)

    def mean(of: Mapping[int, float]) -> float:
        """Returns the mean of a number of each table, by the rows of a step."""
        parts = zip(tables, of.values())
        return sum(table["ids_per_step"] * each for table, each in parts) / rows

    dims = dict(enumerate(table["dim"] for table in tables))
    widths = {
        place: _WEIGHT_BYTES.get(table["row_dtype"], 4.0)
        for place, table in enumerate(tables)
    }
    states = {
        place: max(table["row_bytes"] - dims[place] * widths[place], 0.0)
        for place, table in enumerate(tables)
    }
    ids = sum(table["repeated_ids_per_step"] for table in tables)
    values = {
        "tables": Value(len(tables), GIVEN, "the plan"),
        "layers": Value(lookups, GIVEN, "the plan's lookups of a step"),
        "examples": Value(max(1, round(plan["batch_size"])), GIVEN, "the plan"),
        "rows": Value(rows, GIVEN, "the plan"),
        "ids": Value(ids, GIVEN, "the plan"),
        "dim": Value(max(1, round(mean(dims))), GIVEN, "the plan's mean"),
        "table_rows": Value(stored, GIVEN, "the plan"),
        "stored_weight_bytes": Value(mean(widths), GIVEN, "the plan's row dtypes"),
        "state_bytes": Value(mean(states), GIVEN, "the plan's bytes of rows"),
    }
    for each in plan["shards"]:
        if each["shards"] == shards:
            values.update(_values_of_shards(each))
    return values


def _values_of_shards(planned: Mapping[str, Any]) -> dict[str, Value]:
    source = f"the plan of {planned['shards']} shards"
    values = {"busiest": Value(max(1.0, planned["busiest_ids"]), GIVEN, source)}
    times = planned["times"]
    if times is not None:
        for name, of_times in _DENSE.items():
            values[name] = Value(times[of_times], GIVEN, source)
    return values
