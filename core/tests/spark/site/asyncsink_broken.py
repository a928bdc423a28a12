"""A connector whose client library is not installed."""

from __future__ import annotations

import a_client_library_that_is_missing  # type: ignore[import-not-found]  # noqa: F401
