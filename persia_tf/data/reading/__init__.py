"""Reads files of samples in a fixed order, from any position on."""
