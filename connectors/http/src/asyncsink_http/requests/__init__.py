"""Requests: entries with method, address, headers and body, before anybody's credentials are added."""
