"""A model that is trained on clicks as they happen, and served meanwhile."""
