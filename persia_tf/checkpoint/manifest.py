"""Manifests: what makes a folder a checkpoint. They are written last."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from persia_tf import errors

FILE_NAME = "MANIFEST.json"

_FORMAT = 1


@dataclasses.dataclass(frozen=True)
class Manifest:
    """What a checkpoint consists of.

    Attributes:
        save_id: The number that its files share, and no others have.
        files: Their names, one a shard.
        rows: How many rows they hold.
        bytes: How long they are together.
        created: When it was begun, as ISO 8601, in UTC.
    """

    save_id: int
    files: tuple[str, ...]
    rows: int
    bytes: int
    created: str

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
            return _checked(Manifest(**{**fields, "files": tuple(fields["files"])}))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise errors.DataLossError(
                f"{where}/{FILE_NAME} is damaged: {error!r}. Restore an earlier "
                "checkpoint."
            ) from error


def _checked(manifest: Manifest) -> Manifest:
    kinds: dict[str, Any] = {"save_id": int, "rows": int, "bytes": int, "created": str}
    for name, kind in kinds.items():
        if not isinstance(getattr(manifest, name), kind):
            raise ValueError(f"{name} is {getattr(manifest, name)!r}")
    if not manifest.files or not all(isinstance(f, str) for f in manifest.files):
        raise ValueError(f"files are {manifest.files!r}")
    return manifest
