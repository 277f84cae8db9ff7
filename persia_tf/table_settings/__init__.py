"""Internal modules for a table's settings, which users do not import directly."""
