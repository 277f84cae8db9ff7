"""Saves and loads rows as part of the files in which Keras and TF store a model."""
