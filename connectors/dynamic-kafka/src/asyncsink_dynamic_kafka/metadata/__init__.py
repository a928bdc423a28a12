"""Which clusters and topics a stream has at the moment, and who is asked for it."""
