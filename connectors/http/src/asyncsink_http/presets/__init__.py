"""Bulk APIs as data: the options that each of them needs."""
