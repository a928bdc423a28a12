"""What the kit's Kafka destinations share: the Produce requests that arrive, and a script of what each meets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import anyio

from asyncsink_testing.conformance.destination import SeenRequest
from asyncsink_testing.conformance.scripted import Scripted
from asyncsink_testing.faults import Fault, Step
from asyncsink_testing.kafka.batches import values_in
from asyncsink_testing.kafka.produce import Outcome, Place, ProduceRequest
from asyncsink_testing.kafka.reaction import Ending, Outcomes, Reaction

NOT_ENOUGH_REPLICAS, TOPIC_AUTHORIZATION_FAILED, INVALID_RECORD = 19, 29, 87

_SUPPORTED = frozenset(
    {
        Fault.OK,
        Fault.SLOW,
        Fault.REFUSED,
        Fault.ANSWER_LOST,
        Fault.ANSWER_CUT,
        Fault.DISCONNECTED,
        Fault.HANGING,
        Fault.HANGING_STORED,
        Fault.REJECTED,
        Fault.FATAL,
    }
)
_ENDINGS: Mapping[Fault, Ending] = {
    Fault.ANSWER_LOST: "dropped",
    Fault.ANSWER_CUT: "cut",
    Fault.DISCONNECTED: "dropped",
    Fault.HANGING: "hung",
    Fault.HANGING_STORED: "hung",
}
_STORES_NOTHING = frozenset({Fault.DISCONNECTED, Fault.HANGING})
_CODES = {
    Fault.REFUSED: NOT_ENOUGH_REPLICAS,
    Fault.FATAL: TOPIC_AUTHORIZATION_FAILED,
    Fault.REJECTED: INVALID_RECORD,
}


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A Produce request as a script of faults sees it."""

    entries: tuple[bytes | None, ...]
    started_s: float
    scope: None = None


class ScriptedBrokers(Scripted):
    """What proxies do with Produce requests, in the order in which they arrive, whatever cluster they are for.

    A request of the kit is a Produce request, with the batches of some partitions; its entries are the records' values,
    in order. Poison makes the broker refuse the batch that holds it (INVALID_RECORD, with the records' places), and
    store the other partitions'. There are no single entries that fail: Kafka answers for batches. Nor are there
    throttles that refuse: a quota stores, answers, and says how long it holds back, as
    ``Step(OK, retry_after_s=...)`` does here by ``throttle_time_ms``.
    """

    supported = _SUPPORTED

    def __init__(self) -> None:
        super().__init__(by_index=False)
        self.requests: list[SeenRequest] = []

    def script(self, steps: Iterable[Step | Fault], then: Step | Fault = Fault.OK) -> None:
        """Meet the next Produce requests with these steps, and those after them with `then`.

        :raises ValueError: a step is one that Kafka cannot make
        """
        script = list(steps)
        for each in (*script, then):
            fault = each.fault if isinstance(each, Step) else each
            if fault not in self.supported:
                raise ValueError(f"Kafka cannot make {fault.value!r}: it answers for batches, and refuses no load")
        super().script(script, then)

    def react(self, request: ProduceRequest) -> Reaction:
        """What becomes of a request that has just arrived; for a :class:`KafkaProxy`."""
        values = {place: values_in(records) for place, records in request.batches.items()}
        entries = tuple(value for of in values.values() for value in of)
        arrival: Any = _Arrival(entries, anyio.current_time())
        step = self.next_step(arrival)
        number, sizes = len(self.requests), tuple(len(of) for of in values.values())
        self.requests.append(
            SeenRequest(number, entries, step.fault, frozenset(), arrival.started_s, batch_sizes=sizes)
        )
        return Reaction(
            refused=self._refused(step, values),
            forwarded=step.fault not in _STORES_NOTHING,
            ending=_ENDINGS.get(step.fault, "answered"),
            latency_s=step.latency_s,
            throttle_ms=None if step.retry_after_s is None else round(step.retry_after_s * 1000),
            told=lambda outcomes: self._stored(number, values, outcomes),
        )

    def _refused(self, step: Step, values: Mapping[Place, Sequence[bytes | None]]) -> dict[Place, Outcome]:
        """The batches that are refused: those with poison, or all where the script asks for it."""
        if step.fault not in _CODES:
            return {}
        is_poison: Callable[[Any], bool] = self._is_poison or (lambda payload: False)
        poisoned = {place: tuple(at for at, value in enumerate(of) if is_poison(value)) for place, of in values.items()}
        outcome = Outcome(_CODES[step.fault])
        if step.fault is not Fault.REJECTED:
            return dict.fromkeys(values, outcome)
        told = "One or more records have been rejected"
        refused = {at: replace(outcome, rejected=found, message=told) for at, found in poisoned.items() if found}
        return refused or dict.fromkeys(values, outcome)

    def _stored(self, number: int, values: Mapping[Place, Sequence[bytes | None]], outcomes: Outcomes) -> None:
        stored: set[int] = set()
        first = 0
        for place, of in values.items():
            if place in outcomes and outcomes[place].code == 0:
                stored.update(range(first, first + len(of)))
            first += len(of)
        self.requests[number] = replace(self.requests[number], stored=frozenset(stored))
