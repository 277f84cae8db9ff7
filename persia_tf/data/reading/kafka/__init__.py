"""Reads events from Kafka, from any position on."""
