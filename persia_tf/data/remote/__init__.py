"""Datasets whose elements data workers make, by tf.data service."""
