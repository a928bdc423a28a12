from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from .stub import AwsStub


@pytest.fixture
async def stub(no_aws: Path) -> AsyncIterator[AwsStub]:
    async with AwsStub().serving() as serving:
        yield serving
