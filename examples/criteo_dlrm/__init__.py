"""A DLRM that predicts clicks, on the Criteo Display Advertising data."""
