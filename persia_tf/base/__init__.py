"""Helpers that the other packages share, and that are independent of embeddings."""
