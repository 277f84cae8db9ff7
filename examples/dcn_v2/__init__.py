"""The DLRM of criteo_dlrm, on several workers on one machine."""
