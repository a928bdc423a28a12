"""What a broker takes for a topic's name."""

from __future__ import annotations

import re
from typing import Final

# org.apache.kafka.common.internals.Topic
_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def is_topic_name(name: str) -> bool:
    """Whether a topic can have that name, whether or not there is one."""
    return _NAME.fullmatch(name) is not None and name not in (".", "..")
