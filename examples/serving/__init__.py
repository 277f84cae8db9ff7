"""The DeepFM of movielens, served while it is trained on."""
