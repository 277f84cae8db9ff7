"""Manifests that are none."""

import pytest

from persia_tf import errors
from persia_tf.checkpoint.manifest import Manifest
from persia_tf.serving import manifest as export_manifest

DEPTH = 200_000


def nested(depth):
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    "text", [nested(DEPTH), '{"format": 2, "files": ' + nested(DEPTH) + "}"]
)
def test_a_nested_manifest_is_damaged(text):
    with pytest.raises(errors.DataLossError, match="run/MANIFEST.json is damaged"):
        Manifest.from_bytes(text.encode(), "run")


def test_a_nested_manifest_of_an_export_is_refused():
    with pytest.raises(ValueError, match="nested too deep"):
        export_manifest.Manifest.from_json(nested(DEPTH))
