"""The Python of each documentation page runs as it stands."""

import re
import textwrap
from pathlib import Path

import pytest

from persia_tf._keras import IS_KERAS_3

DOCS = Path(__file__).parents[1] / "docs"

# Pages that need more than this test has; tests elsewhere cover them.
NOT_RUN = {
    "conversion.md": "a file: tests/conversion",
    "kubernetes.md": "pods: tests/deploy",
    "groups.md": "several workers: tests/parallel",
    "ray.md": "a cluster of Ray: tests/ray",
    "replicas.md": "several workers: tests/distribute",
    "serving_remote.md": "shards: tests/serving",
    "saving.md": "files and several workers: tests/layers and tests/distribute",
}

# Names that pages use without defining them.
PRELUDE = """
import numpy as np
import tensorflow as tf
import keras
import persia_tf as ptf

ids = np.arange(8)
labels = np.ones((8, 1), "float32")
pretrained = np.ones((8, 4), "float32")
layer = ptf.layers.PersiaEmbedding(4, table="user")
user = keras.Input((), dtype="int64")
model = keras.Model(user, keras.layers.Dense(1)(layer(user)))
model.compile("sgd", "mse")
train = valid = tf.data.Dataset.from_tensor_slices((ids, labels)).batch(4)
loss_fn, optimizer = keras.losses.MeanSquaredError(), keras.optimizers.SGD()
"""


def blocks_of(page):
    return re.findall(r"^ *```python\n(.*?)```", page.read_text(), re.M | re.S)


def program_of(page):
    program = "\n".join(map(textwrap.dedent, blocks_of(page)))
    if not program.startswith("import numpy"):  # Some pages define all names.
        program = PRELUDE + program
    program = program.replace('"/checkpoints', '"checkpoints')
    program = program.replace("save_freq=10_000", "save_freq=1")
    # Pages share this process, and therefore its tables.
    return re.sub(r'((?:table=|Table\()")', rf"\g<1>{page.stem}_", program)


PAGES = [page for page in sorted(DOCS.glob("*.md")) if blocks_of(page)]


@pytest.mark.skipif(not IS_KERAS_3, reason="pages import keras")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_programs_of_a_page_run(page, tmp_path, monkeypatch):
    if page.name in NOT_RUN:
        pytest.skip(NOT_RUN[page.name])
    program = program_of(page)
    if "import keras_rs" in program:
        pytest.importorskip("keras_rs")
    monkeypatch.chdir(tmp_path)
    exec(compile(program, page.name, "exec"), {"__name__": page.stem})
