"""Parses the JSON bodies of requests to arrays, in row or column format.

    {"instances": [{"user": 3, "tags": ["a"]}, ...]}
    {"inputs": {"user": [3, ...], "tags": [["a"], ...]}}

A value of bytes is {"b64": "..."}. NaN, Infinity and -Infinity are written as these
words. The native core parses the values directly into the arrays, without holding the
interpreter's lock: see cc/json/request_body.h.
"""

from __future__ import annotations

import base64
import binascii
import ctypes
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from persia_tf import errors
from persia_tf.model_server.byte_budget import Share
from persia_tf.model_server.served_signature import Arrays, Signature, Spec
from persia_tf.model_server.shown import shown
from persia_tf.native import capi

# Kinds of values and forms of arrays, as defined in cc/capi/persia_requests.h.
_KINDS = {
    1: "bool",
    2: "int",
    4: "float, or integers beyond 64 bits",
    8: "string",
    16: "bytes",
    32: "null",
    64: "object",
}
_BOOL, _INTEGER, _FLOAT, _STRING, _BYTES = 1, 2, 4, 8, 16


class _Form(NamedTuple):
    """The form of array into which a column, the values of one input, is parsed.

    Attributes:
        number: The form's number in the native core.
        kinds: The kinds of values that the form accepts, as a bit mask.
        dtype: The dtype of the array.
    """

    number: int
    kinds: int
    dtype: Any


_BOOLS = _Form(1, _BOOL, np.bool_)
_SIGNED = _Form(2, _INTEGER, np.int64)
_UNSIGNED = _Form(2, _INTEGER, np.uint64)
_DOUBLES = _Form(3, _INTEGER | _FLOAT, np.float64)
_TEXTS = _Form(4, _STRING | _BYTES, np.uint64)

# The memory that a text takes apart from its bytes: for a reference in an array, a
# Python object, and TensorFlow's string. The bytes are held three times: as they were
# parsed, in the Python object, and in TensorFlow's string.
_TEXT_BYTES = 8 + 48 + 24

_TEXTS_AT_ONCE = 512

# The memory that a column takes in addition to its values: for its descriptions in the
# native core (two during parsing) and in Python.
_COLUMN_BYTES = 1 << 10

# A body with more columns than this counts as wide: parsing it takes long.
_FEW_COLUMNS = 256


class JsonBody:
    """The JSON body of a request for a prediction.

    Use this object in a `with` block, which frees its memory in the native core. A
    column is the values of one input.

    Args:
        text: The JSON text. It must not change while this object is used.
        share: The request's share of the memory budget, charged for the columns,
            without their values.

    Attributes:
        signature: The name of the signature to run; `""` if the body names none.
        in_rows: Whether the inputs are in the row format.

    Raises:
        InvalidArgumentError: If the text is not JSON, does not have exactly one of
            `instances` and `inputs`, or is nested too deep.
        PersiaError: If the memory budget is exhausted.
    """

    def __init__(self, text: bytes, share: Share) -> None:
        self._native = capi.library()
        self._text = np.frombuffer(text or b" ", np.uint8)
        self._handle = capi.BodyHandle()
        self._native.persia_body_scan(
            self._text.ctypes.data, len(self._text), ctypes.byref(self._handle)
        )
        try:
            self._look(share)
        except BaseException:
            # The caller receives no object, so it cannot free the native body.
            self._free()
            raise

    def __enter__(self) -> JsonBody:
        return self

    def __exit__(self, *error: object) -> None:
        self._free()

    @property
    def is_wide(self) -> bool:
        """Whether the body has so many columns that `read` takes long."""
        return self._count > _FEW_COLUMNS

    def _look(self, share: Share) -> None:
        view = capi.BodyView()
        self._native.persia_body_get(self._handle, ctypes.byref(view))
        self.signature = _text(view.signature)
        self.in_rows = bool(view.in_rows)
        self._is_named = bool(view.is_named)
        self._count = view.columns
        share.take(self._count * _COLUMN_BYTES)

    def _free(self) -> None:
        self._native.persia_body_free(self._handle)

    def read(self, signature: Signature, share: Share) -> Arrays:
        """Returns the inputs as arrays that match a signature.

        Args:
            signature: The signature whose inputs the body has.
            share: The request's share of the memory budget, charged for the arrays.

        Raises:
            InvalidArgumentError: If the inputs do not match the signature.
            PersiaError: If the memory budget is exhausted.
        """
        signature.check_count(self._count)
        columns = [self._column(index) for index in range(self._count)]
        names = self._names(signature, columns)
        signature.check_names(names)
        readings = [
            _Reading(name, column, signature.inputs[name])
            for name, column in zip(names, columns)
        ]
        for reading in readings:
            share.take(reading.bytes)
        outputs = (capi.BodyOutput * len(readings))()
        for reading, output in zip(readings, outputs):
            reading.begin(output)
        self._native.persia_body_read(self._handle, outputs, len(readings))
        arrays = {reading.name: reading.array() for reading in readings}
        signature.check(arrays)
        return arrays

    def _names(self, signature: Signature, columns: list[capi.BodyColumn]) -> list[str]:
        if self._is_named:
            return [_text(column.name) for column in columns]
        if len(signature.inputs) != 1:
            raise errors.InvalidArgumentError(
                f"signature {signature.name!r} has several inputs, so they must be "
                f"given by name: {sorted(signature.inputs)}"
            )
        return list(signature.inputs)

    def _column(self, index: int) -> capi.BodyColumn:
        column = capi.BodyColumn()
        self._native.persia_body_get_column(self._handle, index, ctypes.byref(column))
        return column


class _Reading:
    """Parses a column, the values of one input, into an array.

    Attributes:
        name: The input's name.
        bytes: The memory that the array takes until TensorFlow has copied it.
    """

    def __init__(self, name: str, column: capi.BodyColumn, spec: Spec) -> None:
        self.name = name
        self._spec = spec
        self._count = column.values
        self._text_bytes = column.text_bytes
        self._form = _form_of(spec)
        self._check(column)
        self._shape = tuple(column.shape[: column.rank])
        self.bytes = self._bytes()

    def begin(self, output: capi.BodyOutput) -> None:
        """Allocates buffers for the values, and sets their addresses in `output`."""
        self._values = np.empty(self._count, self._form.dtype)
        output.form = self._form.number
        output.values = self._values.ctypes.data
        output.value_count = self._count
        if self._form is _TEXTS:
            self._texts = np.empty(self._text_bytes, np.uint8)
            self._are_base64 = np.empty(self._count, np.bool_)
            output.texts = self._texts.ctypes.data
            output.text_bytes = self._text_bytes
            output.are_base64 = self._are_base64.ctypes.data

    def array(self) -> np.ndarray:
        """Returns the array, after the native core has filled the buffers."""
        try:
            if self._form is _TEXTS:
                flat = self._strings()
            else:
                flat = self._values.astype(self._spec.dtype.as_numpy_dtype, copy=False)
            return flat.reshape(self._shape)
        except (ValueError, TypeError) as error:
            raise self._refusal(shown(str(error))) from error

    def _check(self, column: capi.BodyColumn) -> None:
        """Raises InvalidArgumentError if a column does not have the input's type."""
        unlike = column.kinds & ~self._form.kinds
        if unlike:
            names = ", ".join(name for kind, name in _KINDS.items() if kind & unlike)
            raise self._refusal(f"values of type {names}")
        if column.is_ragged:
            raise self._refusal("lists of unequal lengths")
        if self._form.kinds == _INTEGER:
            limits = np.iinfo(self._spec.dtype.as_numpy_dtype)
            for extreme in (column.least, column.most):
                if not limits.min <= extreme <= limits.max:
                    raise self._refusal(
                        f"{extreme}, which is beyond {self._spec.dtype.name}"
                    )

    def _bytes(self) -> int:
        if self._form is _TEXTS:
            return self._count * _TEXT_BYTES + 3 * self._text_bytes
        # Each value is held three times: as it was parsed, in the array of the input's
        # dtype, and in TensorFlow's copy.
        return self._count * (8 + 2 * self._spec.dtype.size)

    def _strings(self) -> np.ndarray:
        flat = np.empty(self._count, object)
        texts = self._texts.tobytes()
        begin = 0
        # The texts are converted in parts, so that other threads can run in between.
        for at in range(0, self._count, _TEXTS_AT_ONCE):
            part = slice(at, at + _TEXTS_AT_ONCE)
            ends = self._values[part].tolist()
            strings = list(_cut(texts, begin, ends))
            if self._are_base64[part].any():
                strings = _decoded(strings, self._are_base64[part].tolist())
            flat[part] = strings
            begin = ends[-1]
        return flat

    def _refusal(self, told: str) -> errors.InvalidArgumentError:
        return errors.InvalidArgumentError(
            f"input {self.name!r} must be {self._spec}, with lists of equal lengths. "
            f"Received: {told}"
        )


def _text(name: bytes) -> str:
    """Decodes a name; replaces bytes that are not UTF-8 instead of failing."""
    return name.decode(errors="replace")


def _form_of(spec: Spec) -> _Form:
    kinds = {"O": _TEXTS, "b": _BOOLS, "i": _SIGNED, "u": _UNSIGNED}
    return kinds.get(np.dtype(spec.dtype.as_numpy_dtype).kind, _DOUBLES)


def _cut(texts: bytes, begin: int, ends: list[int]) -> Iterator[bytes]:
    for end in ends:
        yield texts[begin:end]
        begin = end


def _decoded(strings: list[bytes], are_base64: list[bool]) -> list[bytes]:
    try:
        return [
            base64.b64decode(string, validate=True) if is_base64 else string
            for string, is_base64 in zip(strings, are_base64)
        ]
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from error
