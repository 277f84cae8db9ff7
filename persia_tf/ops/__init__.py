"""TensorFlow ops of the native core."""
