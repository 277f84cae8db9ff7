"""The pods of a StatefulSet of shards: which there are to be, and their addresses."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from persia_tf import errors
from persia_tf.base import addresses
from persia_tf.kubernetes.api import Api

ORDINAL = "{ordinal}"


@dataclasses.dataclass(frozen=True)
class Scale:
    """How many pods a StatefulSet is to have.

    Attributes:
        ordinals: The numbers of the pods.
        is_deleted: Whether the StatefulSet is gone, or is being deleted.
    """

    ordinals: range
    is_deleted: bool = False

    def drops(self, ordinal: int) -> bool:
        """Whether a pod is to go for good because of a scale-down.

        Pods that are restarted, or moved to another node, keep their numbers. A
        StatefulSet of no pods, and one that is deleted, leave no shard to which rows
        could move: then the volumes keep them.
        """
        return bool(self.ordinals) and ordinal not in self.ordinals


def scale_of(api: Api, stateful_set: str) -> Scale:
    """Returns how many pods a StatefulSet is to have.

    Raises:
        PersiaError: As `Api.get` does, except that a StatefulSet which does not exist
            is one that was deleted.
    """
    try:
        found = api.get("statefulsets", stateful_set)
    except errors.NotFoundError:
        return Scale(range(0), is_deleted=True)
    if "deletionTimestamp" in found["metadata"]:
        return Scale(range(0), is_deleted=True)
    spec = found["spec"]
    first = spec.get("ordinals", {}).get("start", 0)
    return Scale(range(first, first + spec.get("replicas", 1)))


class AddressTemplate:
    """The addresses of numbered pods.

    Example:

    >>> AddressTemplate("persia-ps-{ordinal}.persia-ps:7000").of(2)
    'persia-ps-2.persia-ps:7000'

    Args:
        text: `"host:port"`, with `{ordinal}` in place of the pod's number.

    Raises:
        ValueError: If the text is not of that form.
    """

    def __init__(self, text: str) -> None:
        if text.count(ORDINAL) != 1:
            raise ValueError(
                f"must be HOST:PORT with {ORDINAL} once, in place of the pod's number, "
                f"as in persia-ps-{ORDINAL}.persia-ps:7000, got {text!r}"
            )
        self._text = text
        addresses.parse(self.of(0))
        before, after = map(re.escape, text.split(ORDINAL))
        self._pattern = re.compile(f"{before}(0|[1-9][0-9]*){after}")

    def of(self, ordinal: int) -> str:
        """Returns a pod's address."""
        return self._text.replace(ORDINAL, str(ordinal))

    def ordinal_of(self, address: str) -> int | None:
        """Returns the number of the pod at an address; None if it is no such pod's."""
        found = self._pattern.fullmatch(address)
        return int(found[1]) if found else None


def ordinal_of(address: str, templates: Sequence[AddressTemplate]) -> int | None:
    """Returns the number of the pod at an address, by the first template that fits."""
    for template in templates:
        ordinal = template.ordinal_of(address)
        if ordinal is not None:
            return ordinal
    return None
