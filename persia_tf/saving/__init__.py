"""Saves and loads rows within the files that Keras and TensorFlow write of a model."""
