"""The credentials that processes of a cluster present: the token and TLS."""
