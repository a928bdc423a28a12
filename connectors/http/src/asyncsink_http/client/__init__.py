"""The client: requests with their credentials over connections of their own."""
