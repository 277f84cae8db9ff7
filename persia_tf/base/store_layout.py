"""What is fixed in how a store lays rows out: cc/store has the same numbers."""

from __future__ import annotations

SUB_SHARDS = 64
"""The parts of a table in a store, each with an index of its own."""
