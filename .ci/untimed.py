"""A pytest plugin: Hypothesis judges no durations, since the machines that tests run on are noisy.

tox names it in ``PYTEST_PLUGINS``.
"""

from __future__ import annotations

from hypothesis import settings


def pytest_configure() -> None:
    """Keep the profile in force, such as the one for CI, but for its deadline."""
    settings.register_profile("untimed", settings(settings.default, deadline=None))
    settings.load_profile("untimed")
