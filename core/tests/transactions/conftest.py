"""Two processes of one sink, of which one may be a zombie."""

from __future__ import annotations

from pathlib import Path

import pytest

from asyncsink_testing.staged_sink import StagingArea

from .driver import Driver


@pytest.fixture
def area() -> StagingArea:
    return StagingArea()


@pytest.fixture
def driver(tmp_path: Path, area: StagingArea) -> Driver:
    return Driver(tmp_path, area)


@pytest.fixture
def successor(tmp_path: Path, area: StagingArea) -> Driver:
    return Driver(tmp_path, area)
