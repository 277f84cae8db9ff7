"""A DeepFM that ranks films, on MovieLens 1M."""
