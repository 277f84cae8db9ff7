"""The DeepFM of movielens, served while it trains."""
