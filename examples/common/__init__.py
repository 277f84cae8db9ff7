"""The code that the examples share: data directories, tables, embeddings, training."""
