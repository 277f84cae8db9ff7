"""The DLRM of criteo_dlrm on several workers of one machine."""
