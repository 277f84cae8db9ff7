"""Writes settings in the text format that the native C++ core parses."""

import re
from collections.abc import Mapping


def format_spec(name: str, parameters: Mapping[str, float]) -> str:
    """Returns `name(parameter=number,...)`, e.g. `"sgd(momentum=0.9)"`."""
    numbers = ",".join(f"{key}={float(value)!r}" for key, value in parameters.items())
    return f"{name}({numbers})"


def in_arguments(text: str) -> str:
    """Returns a text with specs, such as an error message, for users to read.

    It names the argument of `persia_tf.optimizers` that sets the parameter `dense`.

    Example:

    >>> in_arguments("adam(beta_1=0.9,dense=1.0)")
    'adam(beta_1=0.9,lazy=False)'
    """
    return re.sub(r"(?<=[(,])dense=1(?:\.0)?(?=[,)])", "lazy=False", text)
