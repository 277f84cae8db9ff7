"""The `persia` command and its sub-commands, which load without TensorFlow."""
