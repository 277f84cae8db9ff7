"""Divides the dense layers of a model among the workers of a group."""

from persia_tf.layers.towers import Towers
from persia_tf.parallel.applied import AppliedPlan, whole
from persia_tf.parallel.compression.encodings import (
    Encoding,
    Float16,
    Int8,
    Threshold,
)
from persia_tf.parallel.exchange import Exchange
from persia_tf.parallel.layer_plan import LayerPlan
from persia_tf.parallel.owned import OwnedBy
from persia_tf.parallel.planning.planner import plan
from persia_tf.parallel.plans import Plan
from persia_tf.parallel.splitting.splittable import Splittable, register
from persia_tf.parallel.tags import tag

__all__ = [
    "AppliedPlan",
    "Encoding",
    "Exchange",
    "Float16",
    "Int8",
    "LayerPlan",
    "OwnedBy",
    "Plan",
    "Splittable",
    "Threshold",
    "Towers",
    "plan",
    "register",
    "tag",
    "whole",
]
