"""A Keras that the library cannot use is refused with what to do."""

import pytest

# What a program may import, and in which order.
IMPORTS = [
    "import persia_tf as ptf",
    "import tensorflow, persia_tf as ptf",
    "import persia_tf as ptf, tensorflow",
]
# Keras with a backend that the tests' environment does not have.
STAND_IN = """
import sys, types
keras = sys.modules["keras"] = types.ModuleType("keras")
keras.backend = types.SimpleNamespace(backend=lambda: "jax")
"""
USE = """
try:
    ptf.layers.PersiaEmbedding(4, table="user")
except ImportError as error:
    print(error)
"""


@pytest.fixture
def refusal(run_python, monkeypatch):
    """Returns the error of a program that uses a layer in some environment."""

    def run(program, **variables):
        monkeypatch.delenv("TF_USE_LEGACY_KERAS", raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return run_python(program + USE)

    return run


@pytest.mark.parametrize("imports", IMPORTS)
def test_another_backend_is_refused(refusal, imports):
    said = refusal(STAND_IN + imports, KERAS_BACKEND="jax")
    assert "needs Keras with the backend tensorflow: set KERAS_BACKEND=tensorf" in said
    assert "Received: the backend jax" in said


def test_a_backend_that_is_not_installed_is_refused_alike(refusal):
    missing = "import sys; sys.modules['torch'] = None\n" + IMPORTS[0]
    assert "Received: the backend torch" in refusal(missing, KERAS_BACKEND="torch")


@pytest.mark.parametrize("version", ["3.9.2", "3.0.0"])
def test_an_older_keras_is_refused(refusal, version):
    older = f"import keras\nkeras.__version__ = {version!r}\n{IMPORTS[0]}"
    said = refusal(older)
    assert said.startswith("persia_tf needs Keras 3.10 or later: `pip install 'keras>=")
    assert f"Received: Keras {version}" in said


@pytest.mark.parametrize("imports", IMPORTS)
def test_a_missing_tf_keras_is_named(refusal, imports):
    missing = "import sys; sys.modules['tf_keras'] = None\n" + imports
    said = refusal(missing, TF_USE_LEGACY_KERAS="1")
    assert said.startswith("TF_USE_LEGACY_KERAS=1 needs `pip install tf_keras`")
