"""Manifests: what makes a folder a checkpoint. They are written last."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from persia_tf import errors

FILE_NAME = "MANIFEST.json"

_FORMAT = 2

# What a file that is no manifest raises; the last, one that is nested too deep.
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


@dataclasses.dataclass(frozen=True)
class Parent:
    """The checkpoint that an increment adds to.

    Attributes:
        name: Its folder's, beside the increment's.
        save_id: Its number: another checkpoint may have come to its place.
    """

    name: str
    save_id: int


@dataclasses.dataclass(frozen=True)
class Manifest:
    """What a checkpoint consists of.

    Attributes:
        save_id: The number that its files share, and no others have.
        files: Their names, one a shard.
        rows: How many rows they hold.
        bytes: How long they are together.
        created: When it was begun, as ISO 8601, in UTC.
        parent: What it is an increment of; None: it has all rows itself.
    """

    save_id: int
    files: tuple[str, ...]
    rows: int
    bytes: int
    created: str
    parent: Parent | None = None

    def to_bytes(self) -> bytes:
        """Returns what is written to the file."""
        fields = {"format": _FORMAT, **dataclasses.asdict(self)}
        return json.dumps(fields, indent=1).encode() + b"\n"

    @staticmethod
    def from_bytes(text: bytes, where: str) -> Manifest:
        """Reads a file's contents.

        Args:
            text: The contents.
            where: The checkpoint, for messages.

        Raises:
            DataLossError: if they are no manifest.
            FailedPreconditionError: if they are one of a later format.
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
    """Whether it is the name of a file in a folder, and no path."""
    return isinstance(text, str) and "/" not in text and text not in ("", ".", "..")
