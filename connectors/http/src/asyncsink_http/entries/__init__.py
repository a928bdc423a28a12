"""Rows as entries of requests: payloads, and where a row alone decides it, whom it goes to and under which key."""
