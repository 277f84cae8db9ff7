"""Modules for processes: servers, children, memory, logs, signals and health."""
