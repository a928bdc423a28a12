"""Exactly once: transactions that tasks prepare, and that the driver commits when all of a batch are prepared."""
