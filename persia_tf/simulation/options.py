"""The options of `persia simulate` for the values of a set-up.

It imports little, since every command of `persia` declares them.
"""

from __future__ import annotations

from collections.abc import Mapping

from persia_tf.simulation.examples import Value, defaults
from persia_tf.simulation.fields import (
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

_METAVARS = {COUNT: "N", SIZE: "SIZE", RATE: "RATE", MILLISECONDS: "MS"}
_METAVARS.update({FLAG: "yes|no", SHARE: "SHARE"})


def _options() -> tuple[tuple[str, str, str], ...]:
    values = defaults()
    return tuple(
        (
            field.option,
            "|".join(field.choices) or _METAVARS.get(field.kind, "NUMBER"),
            f"{field.help} ({_default(field, values)})".replace("%", "%%"),
        )
        for field in FIELDS
    )


def _default(field: Field, values: Mapping[str, Value]) -> str:
    return shown(field.kind, values[field.name].value)


# The options for values: name, metavar and help of each.
OPTIONS = _options()
