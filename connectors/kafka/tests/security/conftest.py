from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .certificates import Certificates


@pytest.fixture
def anyio_backend() -> str:
    """aiokafka knows asyncio alone."""
    return "asyncio"


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    # Here: the conformance kit's checks collect this folder too, where what makes certificates is not installed.
    from .certificates import make_certificates

    return make_certificates(tmp_path_factory.mktemp("certificates"))
