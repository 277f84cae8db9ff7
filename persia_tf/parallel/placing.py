"""Divides the layers of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from persia_tf.parallel.applied import AppliedPlan
from persia_tf.parallel.divided_layer import DividedLayer
from persia_tf.parallel.members import Members
from persia_tf.parallel.named_layers import named_layers
from persia_tf.parallel.splitting import dense  # noqa
from persia_tf.parallel.splitting.splittable import splittable_of


def divide(model: Any, axes: Mapping[str, str], batch_size: int, strategy: Any):
    size, groups = strategy.group_size, strategy.groups
    timeout = strategy.extended._communication_options.timeout_seconds
    layout = f"{strategy.workers} workers, groups of {size}"
    workers = Members(f"{layout}: all", strategy.workers, timeout)
    group = Members(f"{layout}: group {strategy.group}", size, timeout)
    peers = Members(f"{layout}: peers {group.rank}", groups, timeout)
    layers = [
        DividedLayer(name, layer, axes[name], splittable_of(layer), group, -(-batch_size // strategy.workers))
        for name, layer in named_layers(model, lambda l: splittable_of(l) is not None)
        if name in axes
    ]
    return AppliedPlan(model, layers, workers, peers)
