"""The native core, libpersia.so, through ctypes."""
