"""What is decided on the driver's side, before the first task starts: connector, options, columns, mode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pyspark.sql.types import StructType

from asyncsink.configured_sink import ConfiguredSink
from asyncsink.context import Schema
from asyncsink.errors import ConfigurationError
from asyncsink.options import parse_options
from asyncsink.options.door import DoorOptions
from asyncsink.plugins import connector_info, load_object, sink_with
from asyncsink.sink import Sink
from asyncsink.spark.columns import schema_of
from asyncsink.transactions.coordinator import check_transactional, is_transactional


@dataclass(frozen=True)
class Plan:
    """What every task of one write needs to know; Spark pickles it.

    :param connector: its one name, however the user spelled it: the ledger lies in a folder of this name
    :param run_id: names a batch job in the idempotency ids of its rows. Made once for each write and pickled with it,
        so that a repeated task gives its rows the same ids
    :param streaming: whether this is a micro-batch of a streaming query, which has an id of its own
    :param door: the options that are not the sink's
    :param parallelism: Spark's default parallelism, where the program's side of the door could ask for it
    :param transactional: whether what the tasks prepare has to be committed
    :param job: the name of a batch job which is the same when it is run again; None if it has none
    :param in_order: whether jobs by such names come in the order of the numbers in them, as micro-batches do
    """

    connector: str
    sink: Sink[Any, Any, Any, Any]
    schema: Schema
    run_id: str
    streaming: bool
    door: DoorOptions
    parallelism: int | None = None
    transactional: bool = False
    job: str | None = None
    in_order: bool = False


def plan(connector: str, options: Mapping[str, str], struct: StructType, *, overwrite: bool, streaming: bool) -> Plan:
    """Check all that can be checked without a connection.

    :raises ConnectorNotFoundError: the connector is not installed
    :raises ConnectorLoadError: it does not load, or cannot be written to by Spark
    :raises ConfigurationError: an option is unknown, missing or breaks its rule; or the mode would replace rows
    :raises SchemaError: a column is missing or of a type that the sink, or any sink, cannot take
    """
    info = connector_info(connector)
    door, rest = DoorOptions.split(options)
    _check_door(door, streaming=streaming)
    _check_mode(info.name, door, overwrite=overwrite, streaming=streaming)
    return _planned(info.name, sink_with(info, rest), door, struct, streaming=streaming)


def plan_sink(
    name: str,
    sink: Sink[Any, Any, Any, Any],
    options: Mapping[str, str],
    struct: StructType,
    *,
    overwrite: bool,
    streaming: bool,
) -> Plan:
    """Like :func:`plan`, for a sink that a program has made: its options are in it, and `options` are the door's.

    :param name: of the sink, in messages and in the ledger
    """
    door = door_of(options, streaming=streaming)
    _check_mode(name, door, overwrite=overwrite, streaming=streaming)
    return _planned(name, sink, door, struct, streaming=streaming)


def door_of(options: Mapping[str, str], *, streaming: bool) -> DoorOptions:
    """The door's options, where all are the door's or Spark's own.

    :raises ConfigurationError: one is unknown, breaks its rule, contradicts another or would have no effect
    """
    door, rest = DoorOptions.split(options)
    parse_options(rest, DoorOptions)
    _check_door(door, streaming=streaming)
    return door


def _planned(
    connector: str, sink: Sink[Any, Any, Any, Any], door: DoorOptions, struct: StructType, *, streaming: bool
) -> Plan:
    schema = schema_of(struct)
    if isinstance(sink, ConfiguredSink):
        if door.converter is not None:
            sink = sink.with_converter(load_object(door.converter))
        sink.converter(schema)
    elif door.converter is not None:
        raise ConfigurationError(f"option 'converter' is given, but {connector!r} has no converter; leave it out")
    check_transactional(sink)
    return Plan(
        connector,
        sink,
        schema,
        uuid4().hex,
        streaming,
        door,
        transactional=_is_transactional(connector, sink, door),
        job=door.job_id,
    )


def _is_transactional(connector: str, sink: Sink[Any, Any, Any, Any], door: DoorOptions) -> bool:
    """Whether the sink commits in two phases; refuses options that would have no effect."""
    found = is_transactional(sink)
    if door.commit_timeout_s <= 0:
        raise ConfigurationError(f"option 'commitTimeout' = {door.commit_timeout_s:g} s; it must be more than 0")
    if not found and door.job_id is not None:
        raise ConfigurationError(
            f"option 'jobId' is given, and {connector!r} delivers at least once: it remembers no jobs; leave it out"
        )
    return found


def _check_door(door: DoorOptions, *, streaming: bool) -> None:
    """Refuse an option that would have no effect, so that nobody relies on it."""
    if streaming and door.state_location is not None:
        raise ConfigurationError("option 'stateLocation' is for batch jobs; for a stream use ledgerLocation")
    if streaming and door.job_id is not None:
        raise ConfigurationError("option 'jobId' is for batch jobs; a stream's batches have numbers of their own")
    if door.job_id is not None and door.state_location is None:
        raise ConfigurationError("option 'jobId' needs a stateLocation, where it is remembered; give that too")
    if not streaming and door.ledger_location is not None:
        raise ConfigurationError("option 'ledgerLocation' is for streams; for a batch job use stateLocation")
    if not streaming and door.allow_complete:
        raise ConfigurationError("option 'allowComplete' is for streams; use mode('append') for a batch job")
    if not streaming and door.checkpoint_location is not None:
        raise ConfigurationError("option 'checkpointLocation' is for streams; for a batch job use stateLocation")


def _check_mode(connector: str, door: DoorOptions, *, overwrite: bool, streaming: bool) -> None:
    """Refuse a mode that would replace rows."""
    if overwrite and not door.allow_complete:
        raise ConfigurationError(_overwrite_message(connector, streaming))


def _overwrite_message(connector: str, streaming: bool) -> str:
    if streaming:
        return (
            f"outputMode 'complete' would send the whole result to {connector!r} again with each micro-batch, and "
            f"nothing would be replaced there; use outputMode('append'), or set option 'allowComplete' = true if "
            "that is what you want"
        )
    return f"mode 'overwrite' would have to replace what {connector!r} holds, and it can only add; use mode('append')"
