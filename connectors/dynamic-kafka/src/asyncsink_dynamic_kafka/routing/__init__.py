"""Which cluster topics of its stream a record goes to."""
