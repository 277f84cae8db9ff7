"""Arrays as TensorFlow Serving's REST API has them: in rows, or in columns.

    {"instances": [{"user": 3, "tags": ["a"]}, ...]}  {"predictions": [...]}
    {"inputs": {"user": [3, ...], "tags": [["a"], ...]}}  {"outputs": ...}

Bytes are {"b64": "..."}. NaN, Infinity and -Infinity are written as these words.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

import numpy as np

from persia_tf import errors
from persia_tf.model_server.running import Outputs
from persia_tf.model_server.signature import Arrays, Signature, Spec

_ROWS = "instances"
_COLUMNS = "inputs"
_B64 = "b64"

# Outputs of such names are bytes, and not text.
_BYTES_SUFFIX = "_bytes"


class Body:
    """The body of a request for predictions.

    Args:
        text: JSON.

    Attributes:
        signature: The signature's name, or `""`.

    Raises:
        InvalidArgumentError: If it is not JSON, or has not exactly one of
            `instances` and `inputs`.
    """

    def __init__(self, text: bytes) -> None:
        fields = _parse(text)
        if not isinstance(fields, dict) or (_ROWS in fields) == (_COLUMNS in fields):
            raise errors.InvalidArgumentError(
                f'a request must be a JSON object with either "{_ROWS}" or "{_COLUMNS}"'
            )
        self.signature = fields.get("signature_name", "")
        if not isinstance(self.signature, str):
            raise errors.InvalidArgumentError(
                f"signature_name must be a string. Received: {self.signature!r}"
            )
        self._in_rows = _ROWS in fields
        self._given = fields[_ROWS if self._in_rows else _COLUMNS]

    def read(self, signature: Signature) -> Arrays:
        """Returns the inputs of a signature, which fit it."""
        columns = self._columns(signature)
        signature.check_names(columns)
        arrays = {
            name: _array(name, columns[name], spec)
            for name, spec in signature.inputs.items()
        }
        signature.check(arrays)
        return arrays

    def write(self, outputs: Outputs) -> dict[str, Any]:
        """Returns the answer's JSON, in rows if the request was."""
        values = {name: _value(name, array) for name, array in outputs.items()}
        if not self._in_rows:
            return {"outputs": _only(values)}
        lengths = {name: array.shape[:1] for name, array in outputs.items()}
        if len(set(lengths.values())) != 1 or () in lengths.values():
            raise errors.InvalidArgumentError(
                f'outputs have no rows in common: ask with "{_COLUMNS}" instead of '
                f'"{_ROWS}". Lengths: {lengths}'
            )
        if len(values) == 1:
            return {"predictions": _only(values)}
        rows = zip(*values.values())
        return {"predictions": [dict(zip(values, row)) for row in rows]}

    def _columns(self, signature: Signature) -> dict[str, Any]:
        given = self._given
        if not self._in_rows:
            return given if _is_named(given) else _named_alone(given, signature)
        if not isinstance(given, list) or not given:
            raise errors.InvalidArgumentError(
                f'"{_ROWS}" must be a list of examples, one at least'
            )
        if not any(map(_is_named, given)):
            return _named_alone(given, signature)
        names = given[0].keys() if _is_named(given[0]) else None
        for index, row in enumerate(given):
            if not _is_named(row) or row.keys() != names:
                raise errors.InvalidArgumentError(
                    f'all of "{_ROWS}" must be objects with the same names; number '
                    f"{index} differs from the first"
                )
        return {name: [row[name] for row in given] for name in names or ()}


def dump(value: Any) -> str:
    """Writes JSON, with NaN and Infinity as words."""
    return json.dumps(value)


def _parse(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise errors.InvalidArgumentError(
            f"the body of a request must be JSON: {error}"
        ) from error


def _is_named(value: Any) -> bool:
    """Whether it is an object of values by name, and not of one value's bytes."""
    return isinstance(value, dict) and value.keys() != {_B64}


def _named_alone(value: Any, signature: Signature) -> dict[str, Any]:
    if len(signature.inputs) != 1:
        raise errors.InvalidArgumentError(
            f"signature {signature.name!r} has several inputs, so they must be given "
            f"by name: {sorted(signature.inputs)}"
        )
    return {name: value for name in signature.inputs}


def _only(values: dict[str, Any]) -> Any:
    return next(iter(values.values())) if len(values) == 1 else values


def _array(name: str, value: Any, spec: Spec) -> np.ndarray:
    try:
        if spec.dtype.name == "string":
            return _strings(value)
        dtype = np.dtype(spec.dtype.as_numpy_dtype)
        return _integers(value, dtype) if dtype.kind in "iu" else _others(value, dtype)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise errors.InvalidArgumentError(
            f"input {name!r} must be {spec}, with lists of equal lengths. Received: "
            f"{error}"
        ) from error


def _integers(value: Any, dtype: np.dtype) -> np.ndarray:
    # Left to choose, NumPy makes floats of integers whose types have no common one.
    array = np.array(value, object)
    flat = array.ravel().tolist()
    types = set(map(type, flat))
    if list in types:
        raise ValueError("lists of unequal lengths")
    if types - {int}:
        names = sorted(each.__name__ for each in types - {int})
        raise TypeError(f"values of type {', '.join(names)}")
    limits = np.iinfo(dtype)
    for extreme in (min(flat, default=0), max(flat, default=0)):
        if not limits.min <= extreme <= limits.max:
            raise OverflowError(f"{extreme}, which is beyond {dtype}")
    return array.astype(dtype)


def _others(value: Any, dtype: np.dtype) -> np.ndarray:
    """Makes bools, or numbers that need not be integers."""
    array = np.array(value)
    # Of kinds beyond NumPy's own, such as bfloat16, are floats, too.
    if array.size and array.dtype.kind not in ("b" if dtype.kind == "b" else "iuf"):
        raise TypeError(f"values of type {array.dtype}")
    return array.astype(dtype)


def _strings(value: Any) -> np.ndarray:
    shape = _shape(value)
    flat: list[bytes] = []
    _flatten(value, shape, flat)
    array = np.empty(len(flat), object)
    array[:] = flat
    return array.reshape(shape)


def _shape(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list):
        return ()
    return (len(value), *(_shape(value[0]) if value else ()))


def _flatten(value: Any, shape: tuple[int, ...], flat: list[bytes]) -> None:
    if not shape:
        flat.append(_bytes(value))
        return
    if not isinstance(value, list) or len(value) != shape[0]:
        raise ValueError("lists of unequal lengths")
    for each in value:
        _flatten(each, shape[1:], flat)


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and isinstance(value.get(_B64), str) and len(value) == 1:
        try:
            return base64.b64decode(value[_B64], validate=True)
        except binascii.Error as error:
            raise ValueError(f"what is no base64: {error}") from error
    raise TypeError(f"{type(value).__name__} for a string")


def _value(name: str, array: np.ndarray) -> Any:
    if array.dtype != object:
        # JSON has no numbers of less precision.
        wide = array.astype(np.float32) if array.dtype.kind == "V" else array
        return wide.tolist()
    as_bytes = name.endswith(_BYTES_SUFFIX)
    texts = [_text(each, as_bytes) for each in array.ravel().tolist()]
    return _nested(texts, array.shape)


def _text(value: bytes, as_bytes: bool) -> Any:
    if not as_bytes:
        try:
            return value.decode()
        except UnicodeDecodeError:
            pass
    return {_B64: base64.b64encode(value).decode()}


def _nested(flat: list[Any], shape: tuple[int, ...]) -> Any:
    array = np.empty(len(flat), object)
    array[:] = flat
    return array.reshape(shape).tolist()
