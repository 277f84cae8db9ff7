"""A small network that predicts income, on UCI Adult."""
