"""The options of the door from Spark to a sink, which no sink sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from asyncsink.options.fields import option, option_fields
from asyncsink.options.names import folded
from asyncsink.options.sections import ConnectorOptions


@dataclass(frozen=True, kw_only=True)
class DoorOptions(ConnectorOptions):
    """What Spark's hooks read for themselves: where the ledger lies, and what a stream may do."""

    checkpoint_location: str | None = option(
        None,
        doc="Spark's own; a stream keeps its ledger in the folder asyncsink beneath it. It must be given as an option "
        "of the query: a default of the session does not reach a sink.",
    )
    ledger_location: str | None = option(
        None,
        doc="Streams: folder, or URL that fsspec knows, for the ledger, where it cannot lie beneath "
        "checkpointLocation; of one query alone.",
    )
    state_location: str | None = option(
        None,
        doc="Batch jobs: folder, or URL that fsspec knows, in which one run keeps for the next what it has learned, "
        "and what it is about to commit; of jobs to one destination alone.",
    )
    job_id: str | None = option(
        None,
        doc="Batch jobs with a stateLocation, to sinks that deliver exactly once: a name for what the job writes, such "
        "as the day. A job by a name that was committed before is not written again.",
    )
    commit_timeout_s: float = option(
        600.0,
        unit="s",
        doc="Time that the commit of a batch may take, to sinks that deliver exactly once; what is not committed by "
        "then is committed when the query or the job starts again.",
    )
    allow_complete: bool = option(
        False,
        doc="Streams: whether outputMode complete may send the whole result again with each micro-batch.",
    )
    converter: str | None = option(
        None,
        doc="Import path, as in package.module:Name, of your own converter: an ElementConverter, or a function that "
        "takes a row as a dictionary and returns what the sink is to send. All of Spark's Pythons must have it.",
    )

    @classmethod
    def split(cls, options: Mapping[str, str]) -> tuple[Self, dict[str, str]]:
        """The door's own options, and the others.

        :raises ConfigurationError: one of the door's breaks its rule
        """
        names = {folded(each.name) for option in option_fields(cls) for each in option.spellings}
        own = {key: value for key, value in options.items() if folded(key) in names}
        return cls.from_options(own), {key: value for key, value in options.items() if key not in own}
