"""The environment of the workers of one TensorFlow cluster."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence


def environment_of_worker(
    index: int, cluster: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Returns this process's environment, with the TF_CONFIG of a worker.

    Args:
        index: The worker's index.
        cluster: The "host:port"s of the tasks of each job.
    """
    config = {"cluster": cluster, "task": {"type": "worker", "index": index}}
    return {**os.environ, "TF_CONFIG": json.dumps(config)}
