"""What Kubernetes says about a cluster's shards: see docs/kubernetes.md."""
