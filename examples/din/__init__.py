"""A DIN: what a user liked, as far as it concerns the film in question."""
