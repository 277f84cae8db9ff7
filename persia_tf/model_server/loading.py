"""Loads versions of a model."""

from __future__ import annotations

import dataclasses
import functools
import logging
import os
from collections.abc import Mapping
from typing import Any

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2

from persia_tf import _version, errors
from persia_tf.model_server import warming_up
from persia_tf.model_server.served_signature import Signature, told_by
from persia_tf.model_server.shown import shown

_FILE = "saved_model.pb"
_NO_OP = "Op type not registered"
_TAGS = {tf.saved_model.SERVING}

_logger = logging.getLogger("persia.serve")


@dataclasses.dataclass(frozen=True, eq=False)
class Loaded:
    """A loaded version of a model, which serves or is about to serve.

    Attributes:
        name: The model's name.
        version: The version's number.
        path: The version's folder.
        saved_model: The object that `tf.saved_model.load` returned.
        signatures: The version's signatures, by name.
    """

    name: str
    version: int
    path: str
    saved_model: Any = dataclasses.field(repr=False)
    signatures: Mapping[str, Signature] = dataclasses.field(repr=False)

    def signature(self, name: str) -> Signature:
        """Returns the signature called `name`; `""` is the default serving signature.

        Raises:
            InvalidArgumentError: If there is no signature of that name.
        """
        wanted = name or tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
        if wanted not in self.signatures:
            raise errors.InvalidArgumentError(
                f"model {self.name!r} version {self.version} has no signature "
                f"{shown(wanted)}: name one of {sorted(self.signatures)}"
            )
        return self.signatures[wanted]


def load(name: str, version: int, path: str) -> Loaded:
    """Loads a SavedModel and warms it up.

    Args:
        name: The model's name.
        version: The version's number.
        path: The SavedModel's folder.

    Raises:
        PersiaError: If the SavedModel cannot be loaded or warmed up. The message states
            the cause, and what to do.
    """
    ops_failure = _load_ops()
    try:
        definitions = _definitions(path)
        saved_model = tf.saved_model.load(path, tags=_TAGS)
        signatures = {
            key: Signature(key, function, definitions[key])
            for key, function in saved_model.signatures.items()
        }
    except errors.PersiaError:
        raise
    # All exceptions are caught: TensorFlow raises many kinds for incomplete files.
    except Exception as error:
        raise errors.FailedPreconditionError(
            f"{path} cannot be loaded: {_explained(error, ops_failure)}"
        ) from error
    if not signatures:
        raise errors.FailedPreconditionError(
            f"{path} has no signature, so there is nothing to serve: export it by "
            "ptf.serving.export, or give tf.saved_model.save its `signatures`"
        )
    loaded = Loaded(name, version, path, saved_model, signatures)
    warming_up.run(path, loaded.signature)
    return loaded


def _definitions(path: str) -> Mapping[str, Any]:
    """Returns the `SignatureDef`s of a SavedModel, by name."""
    with open(os.path.join(path, _FILE), "rb") as file:
        saved_model = saved_model_pb2.SavedModel.FromString(file.read())
    for graph in saved_model.meta_graphs:
        if _TAGS == set(graph.meta_info_def.tags):
            return graph.signature_def
    raise errors.FailedPreconditionError(
        f"{path}/{_FILE} has no graph with the tag {tf.saved_model.SERVING!r} alone: "
        "it is not a SavedModel for serving, or not complete"
    )


@functools.cache
def _load_ops() -> errors.PersiaError | None:
    """Loads persia_tf's ops, which some models use; returns the error if this fails."""
    try:
        from persia_tf.ops.load import ops

        ops()
    except errors.LibraryLoadError as error:
        _logger.warning("Models with persia_tf's ops cannot be loaded: %s", error)
        return error
    return None


def _explained(error: Exception, ops_failure: errors.PersiaError | None) -> str:
    if isinstance(error, DecodeError):
        return f"its {_FILE} is not a SavedModel, or not complete ({error})"
    if isinstance(error, FileNotFoundError):
        return (
            f"there is no {error.filename}, so it is not a SavedModel, or not yet "
            "complete"
        )
    text = told_by(error) if isinstance(error, tf.errors.OpError) else str(error)
    if f"{_NO_OP} 'Persia" in text:
        reason = ops_failure or (
            f"persia_tf {_version.__version__} has no such op: install the version "
            f"that exported it ({text})"
        )
        return f"it has ops of persia_tf, and {reason}"
    if _NO_OP in text:
        return f"it has an op that is not of TensorFlow {tf.__version__}: {text}"
    return f"it is damaged, or not whole yet ({type(error).__name__}: {text})"
