"""One connection through the proxy: two pipes, and what becomes of them."""

from __future__ import annotations

from collections import deque
from contextlib import ExitStack
from dataclasses import dataclass
from typing import NamedTuple

import anyio

from asyncsink_testing.tcp_proxy.endpoint import Address, Endpoint, PeerResetError, connect
from asyncsink_testing.tcp_proxy.fault import Direction, Ending, Side
from asyncsink_testing.tcp_proxy.plan import FaultPlan, Phase
from asyncsink_testing.tcp_proxy.traffic import TrafficMeter

_MOST_HELD_BYTES = 16 * 1024 * 1024


class Cut(NamedTuple):
    """How a connection is to end."""

    ending: Ending
    left_open: Side | None


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes as they were received, or the end after them, and what they are subject to."""

    data: bytes
    ending: Ending
    phase: Phase
    due: float
    answers: bool


class Link:
    """A client's connection, and the one to the upstream that is made for it."""

    def __init__(self, client: Endpoint, plan: FaultPlan, meter: TrafficMeter) -> None:
        self.meter = meter
        self.failure: str | None = None
        self._client = client
        self._plan = plan
        self._phase = plan.standing_phase()
        # True while the client has sent nothing since the upstream's last bytes: its next bytes begin an exchange.
        self._between = True
        self._cut: Cut | None = None
        self._scope = anyio.CancelScope()

    @property
    def cutting(self) -> bool:
        """Whether a cut was asked for and has not come yet."""
        return self._cut is not None

    def cut(self, cut: Cut) -> None:
        """End the connection soon; a cut that is still to come is not changed by another."""
        if self._cut is None:
            self._cut = cut
            self._scope.cancel()

    def switch(self) -> None:
        """Come under the standing fault, unless a scripted one is in force."""
        if not self._phase.scripted:
            self._phase = self._plan.standing_phase()

    async def serve(self, upstream: list[Address]) -> None:
        """Pass bytes until the connection ends; both sides are closed then."""
        with ExitStack() as stack:
            stack.enter_context(self._client)
            sides: dict[Side, Endpoint] = {"client": self._client}
            with self._scope:
                try:
                    sides["upstream"] = stack.enter_context(await connect(upstream))
                except OSError as error:
                    self.failure = str(error)
                    self.cut(Cut("reset", None))
                else:
                    await self._pass_bytes(self._client, sides["upstream"])
            while self._cut is not None:
                await self._end(self._cut, sides)

    def receive(self, data: bytes, ending: Ending, direction: Direction) -> Chunk:
        """Put what has come in this direction under the fault that is in force for it."""
        if data and direction == "to_upstream":
            self._ask()
        phase = self._phase
        due = anyio.current_time() + phase.fault.latency_s(direction)
        return Chunk(data, ending, phase, due, phase.asked)

    def passing(self, chunk: Chunk, count: int, direction: Direction) -> None:
        """Count bytes that are passed on."""
        chunk.phase.passed[direction] += count
        if direction == "to_client":
            self._between = True
            self.meter.add(bytes_to_client=count)
        else:
            self.meter.add(bytes_to_upstream=count)

    def _ask(self) -> None:
        if self._between:
            scripted = self._plan.scripted_phase()
            if scripted is not None:
                self._phase = scripted
            elif self._phase.scripted:
                self._phase = self._plan.standing_phase()
            self._between = False
        self._phase.asked = True

    async def _pass_bytes(self, client: Endpoint, upstream: Endpoint) -> None:
        pipes = Pipe(self, "to_upstream", client, upstream), Pipe(self, "to_client", upstream, client)
        pipes[0].opposite, pipes[1].opposite = pipes[1], pipes[0]
        try:
            async with anyio.create_task_group() as group:
                for pipe in pipes:
                    group.start_soon(pipe.receive)
                    group.start_soon(pipe.send)
        finally:
            self.meter.add(held_bytes=-sum(pipe.held_bytes for pipe in pipes))

    async def _end(self, cut: Cut, sides: dict[Side, Endpoint]) -> None:
        for side, endpoint in sides.items():
            if side != cut.left_open:
                endpoint.reset() if cut.ending == "reset" else endpoint.close()
        self._cut = None
        self.meter.tell_waiting()
        if cut.left_open in sides:
            with anyio.CancelScope() as self._scope:
                await sides[cut.left_open].discard()


class Pipe:
    """One direction of a connection: receives, holds, and sends on in order."""

    def __init__(self, link: Link, direction: Direction, source: Endpoint, target: Endpoint) -> None:
        self.opposite: Pipe
        self.ended = False
        self.held_bytes = 0
        self._link = link
        self._direction = direction
        self._source = source
        self._target = target
        self._target_gone = False
        self._chunks: deque[Chunk] = deque()
        self._changed = anyio.Event()

    async def receive(self) -> None:
        """Queue what comes from the source, and its end; a full queue makes the source wait."""
        ending: Ending = "close"
        while ending == "close":
            try:
                data = await self._source.receive()
            except PeerResetError:
                data, ending = b"", "reset"
            self._chunks.append(self._link.receive(data, ending, self._direction))
            self._hold(len(data))
            if not data:
                return
            while self.held_bytes >= _MOST_HELD_BYTES:
                await self._changed.wait()

    async def send(self) -> None:
        """Send what is queued when it is due and not held, until the connection ends."""
        while not self.ended:
            while not self._chunks:
                await self._changed.wait()
            chunk = self._chunks[0]
            if chunk.due > anyio.current_time():
                await anyio.sleep_until(chunk.due)
            await chunk.phase.wait_released(self._direction)
            if chunk.data:
                await self._send_chunk(chunk)
            else:
                self._send_end(chunk)
            self._chunks.popleft()
            self._hold(-len(chunk.data))

    async def _send_chunk(self, chunk: Chunk) -> None:
        room = chunk.phase.bytes_until_cut(self._direction, chunk.answers)
        await self._send_bytes(chunk, chunk.data if room is None else chunk.data[:room])
        if room is not None and len(chunk.data) >= room:
            self.ended = True
            self._link.cut(Cut(chunk.phase.fault.ending, chunk.phase.fault.left_open))

    async def _send_bytes(self, chunk: Chunk, data: bytes) -> None:
        if not data or self._target_gone:
            return
        # Counted first: whoever has received them may read the counts at once, from another thread.
        self._link.passing(chunk, len(data), self._direction)
        try:
            await self._target.send_all(data)
        except PeerResetError:
            # The target's last words may still be on their way in the other direction; the reset comes after them.
            self._target_gone = True
            if self.opposite.ended:
                self._link.cut(Cut("reset", None))

    def _send_end(self, chunk: Chunk) -> None:
        self.ended = True
        if chunk.ending == "reset":
            self._link.cut(Cut("reset", None))
        else:
            self._target.finish()

    def _hold(self, count: int) -> None:
        self.held_bytes += count
        self._link.meter.add(held_bytes=count)
        self._changed.set()
        self._changed = anyio.Event()
