"""What workers send in place of float32: fewer bits a number, or fewer numbers."""
