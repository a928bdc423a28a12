"""What the server answers, and what follows from it."""
