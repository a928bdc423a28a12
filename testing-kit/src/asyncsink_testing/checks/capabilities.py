"""What an author says of a connector, beside what the connector says of itself; of the group ``configuration``."""

from __future__ import annotations

from asyncsink.errors import ConfigurationError
from asyncsink.transactions.coordinator import is_transactional
from asyncsink_testing.conformance.check import check
from asyncsink_testing.conformance.trial import Trial
from asyncsink_testing.faults import Fault

_BY_INDEX = frozenset({Fault.PARTLY_FAILED, Fault.PARTLY_THROTTLED, Fault.PARTLY_MIXED})


@check("capabilities-told", group="configuration", since="0.1")
async def capabilities_told(trial: Trial) -> None:
    """What the capabilities deny is not there: the checks that ask for it would be left out, and nobody would know.

    The sink tells whether its requests are atomic, whether it has a committer, whether its state can be turned into
    bytes, and whether it takes ``ordering=key``; the destination tells whether it answers for single entries. Correct
    the capabilities, or the sink: ``atomic_requests``, ``create_committer``, ``entry_serializer`` and ``key_of`` are
    what it says them by. An order of partitions is seen only where the destination of the tests has several.
    """
    sink, told = trial.sink(), trial.capabilities
    atomic = bool(getattr(sink, "atomic_requests", False))
    if atomic != told.atomic_requests:
        trial.fail(f"the capabilities say atomic_requests = {told.atomic_requests}, and the sink says {atomic}")
    if (commits := is_transactional(sink)) != told.commits:
        trial.fail(
            f"the capabilities say commits = {told.commits}, and the sink makes {'a' if commits else 'no'} committer: "
            "look at create_committer and create_global_committer, and at the options of the fixture sink_options"
        )
    if told.ordering == "partition" and trial.partitions < 2:
        trial.fail(
            f"the capabilities say ordering = 'partition', and the destination has partitions = {trial.partitions}: "
            "one alone keeps the order of all rows; open a destination with several, told by its `partitions`"
        )
    there = {
        "keeps_state": sink.writer_state_serializer is not None,
        "ordering": _takes_keys(trial),
        "partial_failure": bool(_BY_INDEX & trial.destination.supported),
    }
    denied = [name for name, is_there in there.items() if is_there and getattr(told, name) in (False, "none")]
    if denied:
        trial.fail(
            f"the capabilities deny {', '.join(denied)}, which is there: what asks for it has not been checked; claim "
            "it, or take it out of the sink or of the destination of the tests"
        )


def _takes_keys(trial: Trial) -> bool:
    """Whether the sink can be made with the order of keys."""
    try:
        trial.sink({"ordering": "key"})
    except ConfigurationError:
        return False
    return True
