from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """The event loop that every client and server of these tests knows; some run on trio's, too."""
    return "asyncio"
