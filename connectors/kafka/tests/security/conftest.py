from __future__ import annotations

import pytest

from .certificates import Certificates, make_certificates


@pytest.fixture
def anyio_backend() -> str:
    """aiokafka knows asyncio alone."""
    return "asyncio"


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))
