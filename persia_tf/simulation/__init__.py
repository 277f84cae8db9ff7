"""A simulator of clusters, whose every constant was measured."""
