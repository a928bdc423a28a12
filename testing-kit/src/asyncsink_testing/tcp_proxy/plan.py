"""Which fault is in force: the script, the standing fault, and the phases of a connection that go by them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import anyio

from asyncsink_testing.tcp_proxy.fault import Direction, TcpFault


@dataclass(slots=True, eq=False)
class Phase:
    """A fault in force on one connection: for one exchange if it was scripted, else until another is switched on."""

    fault: TcpFault
    scripted: bool
    released: anyio.Event
    asked: bool = False
    passed: dict[Direction, int] = field(default_factory=lambda: {"to_upstream": 0, "to_client": 0})

    async def wait_released(self, direction: Direction) -> None:
        """Return when nothing holds this direction."""
        if direction in self.fault.stalled:
            await self.released.wait()

    def bytes_until_cut(self, direction: Direction, answers: bool) -> int | None:
        """How many bytes may pass yet; None if there is no limit.

        :param answers: whether the client had asked for something when these bytes came
        """
        fault = self.fault
        if fault.cut != direction:
            return None
        if direction == "to_client" and not fault.after_bytes and not answers:
            return None
        return fault.after_bytes - self.passed[direction]


class FaultPlan:
    """The script and the standing fault of a proxy."""

    def __init__(self, script: Iterable[TcpFault], standing: TcpFault) -> None:
        self.script = deque(script)
        self.standing = standing
        self.met: list[TcpFault] = []
        self._released: anyio.Event

    def start(self) -> None:
        """Enter the event loop."""
        self._released = anyio.Event()

    def standing_phase(self) -> Phase:
        return Phase(self.standing, False, self._released)

    def scripted_phase(self) -> Phase | None:
        """The next fault of the script; None if it has ended, or waits for a connection that it can refuse."""
        if not self.script or self.script[0].refused:
            return None
        self.met.append(self.script.popleft())
        return Phase(self.met[-1], True, self._released)

    def refuses_connection(self) -> bool:
        """Whether a connection that has just come is to be reset."""
        if self.script and self.script[0].refused:
            self.met.append(self.script.popleft())
            return True
        return self.standing.refused

    def release(self) -> None:
        """End every stall that is in force."""
        self.standing = replace(self.standing, stalled=frozenset())
        self._released.set()
        self._released = anyio.Event()
