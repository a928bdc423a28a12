"""Bodies of requests: payloads framed, and compressed."""
