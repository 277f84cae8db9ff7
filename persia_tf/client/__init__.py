"""Sessions: this process's connections to shards, or its own embedded store."""
