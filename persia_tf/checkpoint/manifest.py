"""Manifests of checkpoints. They are written last: a folder without is incomplete."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from persia_tf import errors

FILE_NAME = "MANIFEST.json"

_FORMAT = 2

# Raised when parsing a damaged manifest; RecursionError by one nested too deeply.
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


@dataclasses.dataclass(frozen=True)
class Parent:
    """The checkpoint that an increment adds to.

    Attributes:
        name: The name of its folder, which is beside the increment's.
        save_id: Its `save_id`, which tells it from another checkpoint that may have
            replaced it in the same folder.
    """

    name: str
    save_id: int


@dataclasses.dataclass(frozen=True)
class Manifest:
    """Describes the files of a checkpoint.

    Attributes:
        save_id: The checkpoint's unique number, which all of its files contain.
        files: The names of its files, one per shard.
        rows: The number of rows in all files.
        bytes: The size of all files.
        created: When the save was begun, in ISO 8601, in UTC.
        parent: The checkpoint that it is an increment of; None if it holds all rows.
    """

    save_id: int
    files: tuple[str, ...]
    rows: int
    bytes: int
    created: str
    parent: Parent | None = None

    def to_bytes(self) -> bytes:
        """Returns the contents of the manifest's file."""
        fields = {"format": _FORMAT, **dataclasses.asdict(self)}
        return json.dumps(fields, indent=1).encode() + b"\n"

    @staticmethod
    def from_bytes(text: bytes, where: str) -> Manifest:
        """Parses the contents of a manifest's file.

        Args:
            text: The contents.
            where: The checkpoint's folder, for messages.

        Raises:
            DataLossError: if the contents are not a valid manifest.
            FailedPreconditionError: if the manifest has another format version.
        """
        try:
            fields = json.loads(text)
            file_format = fields.pop("format")
            if file_format != _FORMAT:
                raise errors.FailedPreconditionError(
                    f"checkpoint {where} has format {file_format}, this persia_tf "
                    f"reads {_FORMAT}. Read it with the version that wrote it."
                )
            fields["files"] = tuple(fields["files"])
            if fields["parent"] is not None:
                fields["parent"] = Parent(**fields["parent"])
            return _checked(Manifest(**fields))
        except _DAMAGE as error:
            raise errors.DataLossError(
                f"{where}/{FILE_NAME} is damaged: {error!r}. Restore an earlier "
                "checkpoint."
            ) from error


def _checked(manifest: Manifest) -> Manifest:
    kinds: dict[str, Any] = {"save_id": int, "rows": int, "bytes": int, "created": str}
    for name, kind in kinds.items():
        if not isinstance(getattr(manifest, name), kind):
            raise ValueError(f"{name} is {getattr(manifest, name)!r}")
    if not manifest.files or not all(map(_is_name, manifest.files)):
        raise ValueError(f"files are {manifest.files!r}")
    parent = manifest.parent
    if parent is not None and not (
        _is_name(parent.name) and isinstance(parent.save_id, int)
    ):
        raise ValueError(f"parent is {parent!r}")
    return manifest


def _is_name(text: Any) -> bool:
    """Returns whether `text` is a plain file name, and not a path."""
    return isinstance(text, str) and "/" not in text and text not in ("", ".", "..")
