"""Importing the package is enough for Keras to find its layers."""

from persia_tf import _keras

KERAS = _keras.keras.__name__.partition(".")[0]

IDS = "np.arange(64)"
MODEL = f"""
import numpy as np, {KERAS} as keras, persia_tf as ptf
user = keras.Input((), dtype="int64")
layer = ptf.layers.PersiaEmbedding(4, table="user", optimizer="adagrad")
model = keras.Model(user, keras.layers.Dense(1)(layer(user)))
model.compile("adam", "mse")
model.fit({IDS}, np.ones((64, 1)), verbose=0)
model.save("model.keras")
np.save("predicted.npy", model.predict({IDS}, verbose=0))
"""

LOADING = f"""
import numpy as np
model = keras.models.load_model("model.keras")
predicted = model.predict({IDS}, verbose=0)
np.testing.assert_array_equal(predicted, np.load("predicted.npy"))
"""


IMPORTS = [
    f"import {KERAS} as keras; import persia_tf",
    f"import persia_tf; import {KERAS} as keras",
    "import persia_tf; import tensorflow as tf; keras = tf.keras",
    "import tensorflow as tf; import persia_tf; keras = tf.keras",
]


def test_a_model_is_loaded_whatever_is_imported_first(run_python):
    run_python(MODEL)
    for imports in IMPORTS:
        run_python(imports + LOADING)


def test_importing_it_imports_neither_keras_nor_tensorflow(run_python):
    found = run_python("import persia_tf, sys; print(*sys.modules)").split()
    assert "persia_tf" in found
    assert not {"keras", "tf_keras", "tensorflow"} & set(found)
