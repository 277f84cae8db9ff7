"""Rows within what Keras and TensorFlow save of a model."""
