"""Ports that a service can come back to."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack

HOST = "127.0.0.1"

_LOWEST, _HIGHEST = 15_000, 31_999


def free_ports(count: int) -> list[int]:
    """Ports of this host that nobody listens at now.

    They lie below those that systems give to clients (32768 on Linux): while a service is down, a connection of
    somebody else's would else take its port.
    """
    found: list[int] = []
    with ExitStack() as bound:
        while len(found) < count:
            port = random.randint(_LOWEST, _HIGHEST)
            if port not in found and _bind(port, bound):
                found.append(port)
    return found


def _bind(port: int, bound: ExitStack) -> bool:
    taken = bound.enter_context(socket.socket())
    try:
        taken.bind((HOST, port))
    except OSError:
        return False
    return True
