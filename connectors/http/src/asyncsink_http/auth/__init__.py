"""Who sends: the credentials of a request."""
