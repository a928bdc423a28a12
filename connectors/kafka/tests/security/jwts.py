"""JSON web tokens that nobody signed, for tests."""

from __future__ import annotations

import base64
import json
from typing import Any


def unsigned(**claims: Any) -> str:
    """A token with these claims, of the form that Kafka's unsecured validator takes."""
    return f"{_part({'alg': 'none'})}.{_part(claims)}."


def _part(content: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")
