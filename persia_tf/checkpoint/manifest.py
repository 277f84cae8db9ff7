"""Manifests of checkpoints.

A save writes the manifest last, so a checkpoint without a manifest is incomplete.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from persia_tf import errors

FILE_NAME = "MANIFEST.json"

# Readers of format 2 know no residuals, and those of format 3 no extra, so a checkpoint
# has the least format that tells what it has.
_FORMAT = 2
_FORMAT_WITH_RESIDUALS = 3
_FORMAT_WITH_EXTRA = 4
_FORMATS = (_FORMAT, _FORMAT_WITH_RESIDUALS, _FORMAT_WITH_EXTRA)

# The errors that parsing a damaged manifest can raise. RecursionError means that its
# JSON is nested too deeply.
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


@dataclasses.dataclass(frozen=True)
class Parent:
    """The checkpoint that an increment adds to.

    Attributes:
        name: The name of the parent's folder, which is beside the increment's folder.
        save_id: The parent's `save_id`, which tells whether the parent's folder still
            holds the parent or another checkpoint.
    """

    name: str
    save_id: int


@dataclasses.dataclass(frozen=True)
class Manifest:
    """Describes the files of a checkpoint.

    Attributes:
        save_id: The checkpoint's unique number, which all of its files contain.
        files: The names of the checkpoint's files, one per shard: see `shard_of`.
        rows: The number of rows in all files.
        bytes: The total size of all files, in bytes.
        created: When the save began, in ISO 8601, in UTC.
        parent: If this checkpoint is an increment, the checkpoint that it adds to; None
            if this checkpoint holds all rows.
        residuals: The names of the files with the residuals of error feedback.
        extra: The names of the files with what the program added.
    """

    save_id: int
    files: tuple[str, ...]
    rows: int
    bytes: int
    created: str
    parent: Parent | None = None
    residuals: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """Returns the contents of the manifest's file."""
        fields = dataclasses.asdict(self)
        number = _FORMAT_WITH_EXTRA
        if not self.extra:
            del fields["extra"]
            number = _FORMAT_WITH_RESIDUALS
            if not self.residuals:
                del fields["residuals"]
                number = _FORMAT
        fields = {"format": number, **fields}
        return json.dumps(fields, indent=1).encode() + b"\n"

    @staticmethod
    def from_bytes(text: bytes, where: str) -> Manifest:
        """Parses the contents of a manifest's file.

        Args:
            text: The contents of the file.
            where: The checkpoint's folder, for messages.

        Raises:
            DataLossError: if the contents are not a valid manifest.
            FailedPreconditionError: if the manifest has another format version.
        """
        try:
            fields = json.loads(text)
            file_format = fields.pop("format")
            if file_format not in _FORMATS:
                raise errors.FailedPreconditionError(
                    f"checkpoint {where} has format {file_format}, but this persia_tf "
                    f"reads the formats {_FORMATS}. Restore it with the persia_tf "
                    "version that wrote it."
                )
            fields["files"] = tuple(fields["files"])
            for name in ("residuals", "extra"):
                fields[name] = tuple(fields.get(name, ()))
            if fields["parent"] is not None:
                fields["parent"] = Parent(**fields["parent"])
            return _checked(Manifest(**fields))
        except _DAMAGE as error:
            raise errors.DataLossError(
                f"{where}/{FILE_NAME} is damaged: {error!r}. Restore an earlier "
                "checkpoint."
            ) from error


def shard_of(file: str) -> str:
    """Returns which shard wrote a file, or the file that was compacted to it.

    The shard is the part of the name after the first "-", as in `shard-00003` and,
    after a compaction, `whole-00003`.
    """
    return file.partition("-")[2]


def _checked(manifest: Manifest) -> Manifest:
    kinds: dict[str, Any] = {"save_id": int, "rows": int, "bytes": int, "created": str}
    for name, kind in kinds.items():
        if not isinstance(getattr(manifest, name), kind):
            raise ValueError(
                f"`{name}` must be of type {kind.__name__}, but is "
                f"{getattr(manifest, name)!r}"
            )
    if not manifest.files or not all(map(_is_name, manifest.files)):
        raise ValueError(
            f"`files` must be a list of file names, but is {manifest.files!r}"
        )
    for name in ("residuals", "extra"):
        names = getattr(manifest, name)
        if not all(map(_is_name, names)):
            raise ValueError(f"`{name}` must be a list of file names, but is {names!r}")
    parent = manifest.parent
    if parent is not None and not (
        _is_name(parent.name) and isinstance(parent.save_id, int)
    ):
        raise ValueError(
            f"`parent` must have a file name and an integer save_id, but is {parent!r}"
        )
    return manifest


def _is_name(text: Any) -> bool:
    """Returns whether `text` is a plain file name, and not a path."""
    return isinstance(text, str) and "/" not in text and text not in ("", ".", "..")
