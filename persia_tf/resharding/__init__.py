"""Resharding: gives the slots of a cluster to other shards while it is in use."""
