"""Converts plain Keras models, so that their large tables live in shards."""

from persia_tf.conversion.converting import Conversion, convert
from persia_tf.conversion.report import ConvertedLayer, LeftLayer, Report

__all__ = [
    "Conversion",
    "ConvertedLayer",
    "LeftLayer",
    "Report",
    "convert",
]
