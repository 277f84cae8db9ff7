"""Ray is imported when it is used, and only then."""

import subprocess
import sys

import pytest

import persia_tf as ptf
from persia_tf import errors

# Ray does not come with it, even if all names are imported.
IMPORTS = """
import sys
import persia_tf
import persia_tf.ray
from persia_tf import *
import persia_tf.commands.main
assert "ray" not in sys.modules, sorted(sys.modules)
"""


def test_the_package_does_not_import_ray():
    subprocess.run([sys.executable, "-c", IMPORTS], check=True, timeout=120)


def test_without_ray_an_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(errors.FailedPreconditionError) as raised:
        ptf.ray.Cluster(checkpoint_root="/checkpoints")
    assert str(raised.value).startswith(
        "ptf.ray needs a library that is not installed ("
    )
    assert str(raised.value).endswith("`pip install 'persia_tf[ray]'` installs it")


def test_a_name_that_is_none_is_an_attribute_error():
    with pytest.raises(AttributeError, match="persia_tf.ray.*no_such_name"):
        ptf.ray.no_such_name  # noqa: B018
