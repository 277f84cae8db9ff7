"""Describes how two `TableSettings` of one table differ, for error messages."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from persia_tf.base.spec import in_arguments

# Maps fields of `TableSettings` to the layer's arguments, where the names differ.
_ARGUMENTS = {"dim": "output_dim", "initializer": "embeddings_initializer"}

_SPEC = re.compile(r"(\w+)\((.*)\)")


def difference(first: Any, now: Any) -> str:
    """Returns what differs between the settings of two layers.

    Example:

    >>> difference(of_one_layer, of_another)
    'optimizer: first sgd, now adagrad(...); row_dtype: first float32, now int8'

    Args:
        first: A `TableSettings`.
        now: Another `TableSettings`.
    """
    differing = []
    for field in dataclasses.fields(first):
        old, new = getattr(first, field.name), getattr(now, field.name)
        if old != new:
            name = _ARGUMENTS.get(field.name, field.name)
            differing.append(f"{name}: first {_rest(old, new)}, now {_rest(new, old)}")
    return in_arguments("; ".join(differing))


def _rest(spec: Any, other: Any) -> str:
    """Returns a setting without the parameters that it shares with `other`.

    If the names before the parameters differ, such as "sgd" and "adagrad", the whole
    setting is returned.
    """
    name, parameters = _parsed(spec)
    other_name, other_parameters = _parsed(other)
    if name != other_name:
        return str(spec)
    rest = [each for each in parameters if each not in other_parameters]
    return f"{name}({','.join(rest)})" if rest else name


def _parsed(spec: Any) -> tuple[str, list[str]]:
    found = _SPEC.fullmatch(str(spec))
    return (found[1], found[2].split(",")) if found else (str(spec), [])
