"""Writes settings in the text format that the native C++ core parses."""

from collections.abc import Mapping


def format_spec(name: str, parameters: Mapping[str, float]) -> str:
    """Returns `name(parameter=number,...)`, e.g. `"sgd(momentum=0.9)"`."""
    numbers = ",".join(f"{key}={float(value)!r}" for key, value in parameters.items())
    return f"{name}({numbers})"
