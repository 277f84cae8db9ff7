"""The functions of this library that the graphs of trainers' datasets call by name."""

from __future__ import annotations


def register() -> None:
    """Registers the functions that trainers' datasets call in this process."""
