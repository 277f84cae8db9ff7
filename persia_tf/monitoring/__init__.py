"""Prometheus metrics of servers and of programs that train."""
