"""What is raised where this machine cannot run a fake of AWS, or not look into it."""

from __future__ import annotations


class AwsUnavailable(RuntimeError):
    """Something that the service needs is not installed; the message says what, and how to get it.

    A test that may do without turns it into a skip with this reason.
    """
