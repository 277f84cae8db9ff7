"""Data workers: other processes that read a trainer's files."""
