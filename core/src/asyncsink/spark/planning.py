"""What is decided on the driver's side, before the first task starts: connector, options, columns, mode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pyspark.sql.types import StructType

from asyncsink.async_sink import AsyncSink
from asyncsink.context import Schema
from asyncsink.errors import ConfigurationError, ConnectorLoadError
from asyncsink.options.names import folded
from asyncsink.plugins import load_sink
from asyncsink.spark.columns import schema_of

_ALLOW_COMPLETE = "allowComplete"


@dataclass(frozen=True)
class Plan:
    """What every task of one write needs to know; Spark pickles it.

    :param run_id: names a batch job in the idempotency ids of its rows. Made once for each write and pickled with it,
        so that a repeated task gives its rows the same ids
    :param streaming: whether this is a micro-batch of a streaming query, which has an id of its own
    """

    connector: str
    sink: AsyncSink[Any, Any, Any]
    schema: Schema
    run_id: str
    streaming: bool


def plan(connector: str, options: Mapping[str, str], struct: StructType, *, overwrite: bool, streaming: bool) -> Plan:
    """Check all that can be checked without a connection.

    :raises ConnectorNotFoundError: the connector is not installed
    :raises ConnectorLoadError: it does not load, or cannot be written to by Spark
    :raises ConfigurationError: an option is unknown, missing or breaks its rule; or the mode would replace rows
    :raises SchemaError: a column is missing or of a type that the sink, or any sink, cannot take
    """
    allowed, rest = _split_options(options, streaming)
    if overwrite and not allowed:
        raise ConfigurationError(_overwrite_message(connector, streaming))
    kind = load_sink(connector)
    if not issubclass(kind, AsyncSink):
        raise ConnectorLoadError(
            f"connector {connector!r} has the sink {kind.__qualname__}, which is no AsyncSink; Spark can write to "
            "those only, so use it from a program"
        )
    sink = kind.from_options(rest)
    schema = schema_of(struct)
    sink.converter(schema)
    return Plan(connector, sink, schema, uuid4().hex, streaming)


def _split_options(options: Mapping[str, str], streaming: bool) -> tuple[bool, dict[str, str]]:
    """Whether ``complete`` is allowed, and the options that are not the door's own. Batch jobs do not know it."""
    allowed, rest = False, {}
    for key, value in options.items():
        if streaming and folded(key) == folded(_ALLOW_COMPLETE):
            if value.strip().lower() not in ("true", "false"):
                raise ConfigurationError(f"option {_ALLOW_COMPLETE!r} = {value!r} must be true or false")
            allowed = value.strip().lower() == "true"
        else:
            rest[key] = value
    return allowed, rest


def _overwrite_message(connector: str, streaming: bool) -> str:
    if streaming:
        return (
            f"outputMode 'complete' would send the whole result to {connector!r} again with each micro-batch, and "
            f"nothing would be replaced there; use outputMode('append'), or set option {_ALLOW_COMPLETE!r} = true if "
            "that is what you want"
        )
    return f"mode 'overwrite' would have to replace what {connector!r} holds, and it can only add; use mode('append')"
