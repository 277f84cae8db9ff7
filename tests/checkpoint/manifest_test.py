"""Texts that are not valid manifests."""

import pytest

from persia_tf import errors
from persia_tf.checkpoint.manifest import Manifest

DEPTH = 200_000


def nested(depth):
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    "text", [nested(DEPTH), '{"format": 2, "files": ' + nested(DEPTH) + "}"]
)
def test_a_nested_manifest_is_damaged(text):
    with pytest.raises(errors.DataLossError, match="run/MANIFEST.json is damaged"):
        Manifest.from_bytes(text.encode(), "run")
