from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from asyncsink_testing.s3_server import S3

    from .s3 import Bucket


@pytest.fixture(scope="session")
def served() -> Iterator[S3]:
    # Conformance checks are collected from here where there is no S3.
    from .s3 import serving

    with serving() as s3, s3.in_environment():
        yield s3


@pytest.fixture
def s3(served: S3) -> S3:
    """The server, with all its manners."""
    served.deaf, served.answers = False, []
    return served


@pytest.fixture
def bucket(s3: S3) -> Iterator[Bucket]:
    from .s3 import Bucket

    bucket = Bucket(s3)
    yield bucket
    bucket.client.close()
