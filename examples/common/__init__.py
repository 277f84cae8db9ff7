"""What the examples share: data directories, tables, embeddings, training."""
