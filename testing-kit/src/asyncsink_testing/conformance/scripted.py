"""What the kit's own destinations of the checks share: a script of faults, and entries that are poison."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from asyncsink_testing.faults import Fault, FaultSource, PoisonedEntries, Script, Step

if TYPE_CHECKING:
    from asyncsink_testing.history import SentRequest


class Scripted:
    """A :class:`FaultSource` by what a check has asked for last.

    :param by_index: whether poison is refused by its index; else its whole request is
    :param payload_of: what of an entry a check knows
    """

    def __init__(self, by_index: bool, payload_of: Callable[[Any], Any] = lambda entry: entry) -> None:
        self._by_index, self._payload_of = by_index, payload_of
        self._script = Script()
        self._is_poison: Callable[[Any], bool] | None = None

    def script(self, steps: Iterable[Step | Fault], then: Step | Fault = Fault.OK) -> None:
        """Meet the next requests with these steps, and those after them with `then`."""
        self._script = Script(steps, then)

    def poison(self, is_poison: Callable[[Any], bool]) -> None:
        """Reject entries whose payload is poison, whatever else happens."""
        self._is_poison = is_poison

    def next_step(self, request: SentRequest) -> Step:
        is_poison, payload_of = self._is_poison, self._payload_of
        source: FaultSource = self._script
        if is_poison is not None:
            source = PoisonedEntries(source, self._by_index, lambda each: is_poison(payload_of(each)))
        return source.next_step(request)
