"""What the proxy does to a connection, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

Direction = Literal["to_upstream", "to_client"]
Ending = Literal["close", "reset"]
Side = Literal["client", "upstream"]

BOTH: frozenset[Direction] = frozenset({"to_upstream", "to_client"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpFault:
    """Latency, a stall, a cut or a refusal; the class methods name the usual ones, any other combines the fields.

    :param latency_to_upstream_s: seconds by which each chunk of the client's bytes comes later, in order
    :param latency_to_client_s: the same for the upstream's bytes
    :param stalled: the directions in which bytes, and the end of the connection, are held until ``release``
    :param cut: the direction whose bytes bring on the end of the connection; None to keep it
    :param after_bytes: how many more bytes pass in that direction before the cut. With 0 it comes instead of the next
        ones: ``"to_upstream"`` loses the request, ``"to_client"`` the answer, which is what the upstream sends after
        the client's next bytes
    :param ending: how a cut ends a side: ``"close"`` (FIN) or ``"reset"`` (RST)
    :param left_open: the side that a cut leaves open and silent: nothing comes from there, and what is sent there is
        accepted and dropped. None to end both
    :param refused: a new connection is accepted and reset at once; a client may see that while it connects already
    """

    latency_to_upstream_s: float = 0.0
    latency_to_client_s: float = 0.0
    stalled: frozenset[Direction] = frozenset()
    cut: Direction | None = None
    after_bytes: int = 0
    ending: Ending = "reset"
    left_open: Side | None = None
    refused: bool = False

    NONE: ClassVar[TcpFault]

    def __post_init__(self) -> None:
        for name in ("latency_to_upstream_s", "latency_to_client_s", "after_bytes"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must be 0 or more")
        if self.cut is None and (self.after_bytes or self.left_open):
            raise ValueError("after_bytes and left_open say how to cut; give the direction of the cut with them")

    @classmethod
    def latency(cls, latency_s: float, direction: Direction | None = None) -> TcpFault:
        """Delay each chunk in one direction or, for None, in each."""
        return cls(
            latency_to_upstream_s=0.0 if direction == "to_client" else latency_s,
            latency_to_client_s=0.0 if direction == "to_upstream" else latency_s,
        )

    @classmethod
    def stall(cls, direction: Direction | None = None) -> TcpFault:
        """Hold bytes in one direction or, for None, in both, until ``release`` is called."""
        return cls(stalled=BOTH if direction is None else frozenset({direction}))

    @classmethod
    def lose_request(cls, ending: Ending = "reset") -> TcpFault:
        """End the connection before the client's next bytes reach the upstream."""
        return cls(cut="to_upstream", ending=ending)

    @classmethod
    def lose_answer(cls, ending: Ending = "reset") -> TcpFault:
        """End the connection when the answer to the client's next bytes begins: stored, and not acknowledged."""
        return cls(cut="to_client", ending=ending)

    @classmethod
    def cut_after(cls, after_bytes: int, direction: Direction, ending: Ending = "reset") -> TcpFault:
        """End the connection after so many more bytes in a direction."""
        return cls(cut=direction, after_bytes=after_bytes, ending=ending)

    @classmethod
    def refuse(cls) -> TcpFault:
        """Accept a new connection and reset it at once."""
        return cls(refused=True)

    def leaving_open(self, side: Side) -> TcpFault:
        """The same cut, but this side stays open and silent: the connection is half-open.

        :raises ValueError: the fault cuts nothing
        """
        return replace(self, left_open=side)

    def latency_s(self, direction: Direction) -> float:
        """Seconds by which a chunk in this direction comes later."""
        return self.latency_to_upstream_s if direction == "to_upstream" else self.latency_to_client_s


TcpFault.NONE = TcpFault()
