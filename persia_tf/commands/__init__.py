"""The `persia` command and its sub-commands; none of them imports TensorFlow."""
