"""The door from Spark to a sink that a program has made: a data source that carries the sink."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from dataclasses import replace
from os import urandom
from typing import TYPE_CHECKING, Any, ClassVar

from pyspark import cloudpickle

from asyncsink.configured_sink import ConfiguredSink
from asyncsink.errors import ConfigurationError
from asyncsink.options.door import DoorOptions
from asyncsink.options.fields import option_fields
from asyncsink.options.names import folded
from asyncsink.plugins import available, connector_info
from asyncsink.spark.datasource import ConnectorDataSource, option_of
from asyncsink.spark.formats import activate, of_context

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from pyspark.sql.types import StructType

    from asyncsink.spark.planning import Plan

__all__ = ["DataFrame", "DataStreamWriter", "SinkDataSource", "connector_of", "write", "write_stream"]

RUN_OPTION = "asyncsinkRun"
"""Names the run of a batch job in its rows' idempotency ids, in the place of a random name; for foreach_batch alone."""

_KEY = urandom(16)

_ELSEWHERE = {
    "outputmode": "call outputMode() of the stream's writer; a batch job always appends",
    "path": "the sink knows where it writes, so leave it out",
    "queryname": "call queryName() of the stream's writer; a batch job has no name",
    "sink": "the sink is here already, so leave it out",
}
"""Options that a door by name lets pass as Spark's or its own, folded, each with its remedy here."""


class SinkDataSource(ConnectorDataSource):
    """Writes to the one sink that a subclass carries; Spark pickles the class, and the sink in it.

    :cvar format: the name under which it is registered
    :cvar parallelism: the session's default parallelism; None with Spark Connect, which does not tell it
    """

    format: ClassVar[str]
    sink: ClassVar[ConfiguredSink[Any, Any, Any, Any]]
    parallelism: ClassVar[int | None]

    @classmethod
    def name(cls) -> str:
        return cls.format

    def _planned(self, schema: StructType, *, overwrite: bool, streaming: bool) -> Plan:
        from asyncsink.spark.planning import plan_sink

        options = {key: value for key, value in self.options.items() if folded(key) != folded(RUN_OPTION)}
        plan = plan_sink(self.connector, self.sink, options, schema, overwrite=overwrite, streaming=streaming)
        run = option_of(self, RUN_OPTION)
        plan = replace(plan, parallelism=self.parallelism)
        return plan if run is None else replace(plan, run_id=run, job=run, in_order=True)


def write(
    sink: ConfiguredSink[Any, Any, Any, Any], df: DataFrame, options: Mapping[str, Any], run: str | None = None
) -> None:
    """Write a DataFrame as one batch job; returns once every row is acknowledged, or given up for good.

    :param run: names the job in its rows' idempotency ids; None: a random name
    :raises ConfigurationError: as `door_options` does
    :raises SchemaError: the sink cannot take the columns
    """
    given = _checked(sink, df, options, streaming=False)
    named = given if run is None else {**given, RUN_OPTION: run}
    df.write.format(_registered(df.sparkSession, sink)).options(**named).mode("append").save()


def write_stream(
    sink: ConfiguredSink[Any, Any, Any, Any], df: DataFrame, options: Mapping[str, Any]
) -> DataStreamWriter:
    """What starts the streaming query: add a checkpointLocation, a trigger, and call ``start()``; raises as `write`."""
    given = _checked(sink, df, options, streaming=True)
    return df.writeStream.format(_registered(df.sparkSession, sink)).options(**given)


def connector_of(sink: ConfiguredSink[Any, Any, Any, Any]) -> str:
    """The installed connector that the sink's class belongs to, or else a name made of the class's."""
    kind = type(sink)
    path, package = f"{kind.__module__}:{kind.__qualname__}", kind.__module__.partition(".")[0]
    for each in available():
        # Others are not loaded: one that is broken is no matter of this sink.
        if each.package == package and not each.disabled:
            info = connector_info(each.name)
            if info.sink == path:
                return info.name
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", re.sub(r"\W|_", "", kind.__name__, flags=re.ASCII)).lower() or "sink"


def _registered(session: SparkSession, sink: ConfiguredSink[Any, Any, Any, Any]) -> str:
    """Make the sink known to the session, and return its format. Again under the same name, it does no harm."""
    connector = connector_of(sink)
    name = f"asyncsink.{connector}.{_fingerprint(sink)}"
    # Pickled by value, as no module has this class; its base is not, so only the sink travels.
    parallelism = of_context(session, lambda context: context.defaultParallelism)
    carried = {"connector": connector, "format": name, "sink": sink, "parallelism": parallelism}
    source = type("SinkSource", (SinkDataSource,), carried)
    activate(session)
    session.dataSource.register(source)
    return name


def _fingerprint(sink: ConfiguredSink[Any, Any, Any, Any]) -> str:
    """Tells sinks of this process apart by all that they hold. Keyed: plans show it, and it must not give away secrets.

    :raises ConfigurationError: the sink cannot be pickled
    """
    try:
        pickled = cloudpickle.dumps(sink)  # type: ignore[no-untyped-call]
    except Exception as error:
        raise ConfigurationError(
            f"{type(sink).__qualname__} cannot be pickled, as Spark does: {type(error).__name__}: {error}; let its "
            "options, its config and its converter hold no connection, lock or open file"
        ) from error
    return hmac.digest(_KEY, pickled, "sha256").hex()[:12]


def door_options(options: Mapping[str, Any], *, streaming: bool) -> dict[str, str]:
    """The options of a call as strings, in Spark's spelling.

    :raises ConfigurationError: one is unknown, breaks its rule, contradicts another or would have no effect
    """
    from asyncsink.spark.planning import door_of

    given = {key: _as_text(value) for key, value in options.items() if value is not None}
    for key in given:
        if folded(key) in _ELSEWHERE:
            raise ConfigurationError(
                f"option {key!r} is none of a sink that a program has made; {_ELSEWHERE[folded(key)]}"
            )
    # As they were given: two spellings of one option are one below, and could no longer contradict each other.
    door_of(given, streaming=streaming)
    known = {folded(each.name): option.name for option in option_fields(DoorOptions) for each in option.spellings}
    return {known[folded(key)]: value for key, value in given.items()}


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _checked(
    sink: ConfiguredSink[Any, Any, Any, Any], df: DataFrame, options: Mapping[str, Any], *, streaming: bool
) -> dict[str, str]:
    """What to tell Spark. What the planner would refuse is refused here, as a program can catch what is raised here."""
    from asyncsink.spark.planning import plan_sink

    given = door_options(options, streaming=streaming)
    plan_sink(type(sink).__qualname__, sink, given, df.schema, overwrite=False, streaming=streaming)
    return given
