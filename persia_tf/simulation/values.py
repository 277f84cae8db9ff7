"""Chooses the values of a simulation: an example's, a plan's, and given ones."""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from persia_tf.base import whole_numbers
from persia_tf.processes import memory
from persia_tf.simulation.costs import Costs, measured_costs
from persia_tf.simulation.examples import GIVEN, Example, Value, defaults, examples
from persia_tf.simulation.fields import (
    CHOICE,
    COUNT,
    FIELDS,
    FLAG,
    MILLISECONDS,
    RATE,
    SHARE,
    SIZE,
    Field,
    shown,
)
from persia_tf.simulation.planned import values_of_plan
from persia_tf.simulation.sensitivity import least_steps
from persia_tf.simulation.setup import Setup

_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*([kMGT]?)([bB])(?:/s|ps)?")
_POWERS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


class RefusedError(ValueError):
    """A value that is refused: the option, its rule and the value."""


def chosen(args: Mapping[str, Any]) -> Example:
    """Returns the set-up that options choose.

    Args:
        args: The text of each option, by its name in Python; None if it is not given.
            `example` names an example, and `plan` a file.

    Raises:
        RefusedError: if a value is refused.
    """
    name, title, values = "set-up", "A set-up of options", defaults()
    if args["example"] is not None:
        known = examples()
        if args["example"] not in known:
            raise RefusedError(
                f"--example must be one of {', '.join(known)}. Received: "
                f"{args['example']}"
            )
        example = known[args["example"]]
        name, title, values = example.name, example.title, dict(example.values)
    given: dict[str, Value] = {}
    for field in FIELDS:
        text = args[field.option.removeprefix("--").replace("-", "_")]
        if text is not None:
            given[field.name] = Value(_parsed(field, text), GIVEN, "an option")
    if args["plan"] is not None:
        shards = given.get("shards", values["shards"]).value
        values.update(_planned(args["plan"], shards))
    values.update(given)
    if given and args["example"] is not None:
        title += ", with other values"
    made = Example(name, title, values)
    _check(made)
    return made


def costs_of(path: str | None) -> Costs:
    """Returns the costs in a file, or those of this release.

    Raises:
        RefusedError: if the file has none.
    """
    if path is None:
        return measured_costs()
    try:
        return measured_costs(Path(path))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise RefusedError(
            "--costs must be a file that benchmarks/cost_bench.py has written "
            f"({error}). Received: {path}"
        ) from error


def steps_of(text: str | None, setup: Setup) -> int | None:
    """Returns a number of steps.

    Raises:
        RefusedError: if no update would end in them.
    """
    if text is None:
        return None
    least, steps = least_steps(setup), _count(text)
    if steps is None or steps < least:
        raise RefusedError(
            f"--steps must be an integer of at least {least}, the staleness + 2, so "
            f"that updates end in them. Received: {text}"
        )
    return steps


def _planned(path: str, shards: int) -> dict[str, Value]:
    try:
        plan = json.loads(Path(path).read_text(encoding="utf-8"))
        return values_of_plan(plan, shards)
    except (OSError, ValueError, TypeError, KeyError, ArithmeticError) as error:
        raise RefusedError(
            "--plan must be a file that `persia plan --json FILE` has written "
            f"({type(error).__name__}: {error}). Received: {path}"
        ) from error


def _check(example: Example) -> None:
    try:
        _ = example.setup, example.operation
    except ValueError as error:
        raise RefusedError(_in_options(str(error), example.values)) from error


def _in_options(message: str, values: Mapping[str, Value]) -> str:
    """Returns an error's message with the names and units of options."""
    rule, _, received = message.partition("Received: ")
    parts = []
    for field in FIELDS:
        rule = rule.replace(f"`{field.name}`", field.option)
        if re.search(rf"\b{field.name}=", received):
            value = values[field.name].value
            parts.append(f"{field.option} {shown(field.kind, value)}")
    return f"{rule}Received: {', '.join(parts)}"


def _parsed(field: Field, text: str) -> Any:
    value = _value(field.kind, text)
    if value is None:
        raise RefusedError(
            f"{field.option} must be {_RULES[field.kind]}. Received: {text}"
        )
    return value


_RULES = {
    COUNT: "an integer of at least 0",
    SIZE: 'a number of bytes, such as "8GiB", "512MB" or "1000000"',
    RATE: 'bits or bytes per second, such as "25Gb" or "1.25GB"',
    MILLISECONDS: "a number of milliseconds of at least 0",
    SHARE: 'a number from 0 to 1, or from "0%" to "100%"',
    FLAG: '"yes" or "no"',
    "number": "a number of at least 0",
}


def _value(kind: str, text: str) -> Any:
    """Returns the value in a text, or None if it is not one of its kind."""
    if kind == CHOICE:
        return text  # What owns the value refuses what is none of its choices.
    if kind == FLAG:
        return {"yes": True, "no": False}.get(text)
    if kind == COUNT:
        return _count(text)
    if kind == SIZE:
        return _size(text)
    if kind == RATE:
        return _rate(text)
    if kind == SHARE:
        return _share(text)
    number = _number(text)
    if number is None:
        return None
    return number / 1000 if kind == MILLISECONDS else number


def _share(text: str) -> float | None:
    number, whole = _number(text.removesuffix("%")), 100 if text.endswith("%") else 1
    return None if number is None or number > whole else number / whole


def _count(text: str) -> int | None:
    try:
        count = whole_numbers.parse(text)
    except ValueError:
        return None
    return count if count >= 0 else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None


def _size(text: str) -> float | None:
    if text == "0":
        return 0.0
    try:
        return float(memory.size(text))
    except argparse.ArgumentTypeError:
        return None


def _rate(text: str) -> float | None:
    parsed = _RATE.fullmatch(text)
    if parsed is None:
        return None
    number, power, unit = parsed.groups()
    rate = float(number) * _POWERS[power] / (8 if unit == "b" else 1)
    return rate if rate > 0 else None
