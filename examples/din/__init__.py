"""A DIN: attends to the films that a user liked, depending on the candidate film."""
