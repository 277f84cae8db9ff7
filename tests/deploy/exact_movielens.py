"""The MovieLens example as a program whose result depends on its seed alone.

    python exact_movielens.py /app/examples [ARGUMENTS OF THE EXAMPLE]

It trains with a staleness of 0, and prints as JSON the exact test AUC, and for each
table the number of rows and a digest of all rows with their optimizer's state. So two
runs print the same only if each update was applied once in both.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys

import numpy as np


def main(folder: str, arguments: list[str]) -> None:
    """Trains on the shards of $PERSIA_PS."""
    sys.path.insert(0, folder)
    import tensorflow as tf
    from movielens import data, train

    import persia_tf as ptf

    tf.config.experimental.enable_op_determinism()
    cluster = ptf.Cluster(os.environ["PERSIA_PS"].split(","), staleness=0)
    with ptf.use_cluster(cluster):
        auc = train.main(arguments)
        cluster.flush()
        tables = {feature: _digest(f"movielens/{feature}") for feature in data.FEATURES}
    print(json.dumps({"auc": auc, "tables": tables}), flush=True)


def _digest(table: str) -> list[int | str]:
    """Returns the number of a table's rows, and a digest of them."""
    import persia_tf as ptf

    pages = list(ptf.Table(table).export())
    ids = np.concatenate([page.ids for page in pages])
    order = np.argsort(ids)
    digest = hashlib.sha256(ids[order].tobytes())
    for name in ("rows", "state"):
        values = np.concatenate([getattr(page, name) for page in pages])
        digest.update(values[order].tobytes())
    return [len(ids), digest.hexdigest()]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
