"""Decides which layers a group divides, by what they would cost."""
