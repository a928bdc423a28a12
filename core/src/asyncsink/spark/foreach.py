"""What ``writeStream.foreachBatch`` takes: each micro-batch is one batch job."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from asyncsink.errors import ConfigurationError
from asyncsink.transactions.coordinator import is_transactional

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from asyncsink.configured_sink import ConfiguredSink

logger = logging.getLogger(__name__)


def foreach_batch(
    sink: ConfiguredSink[Any, Any, Any, Any], *, name: str | None = None, **options: Any
) -> Callable[[DataFrame, int], None]:
    """A function that writes a micro-batch: ``df.writeStream.foreachBatch(foreach_batch(HttpSink(url=...)))``.

    The way to ``outputMode("update")``, which Spark refuses for every sink in Python. Spark repeats a micro-batch that
    was not committed, so rows arrive at least once, and then with the same idempotency ids:
    ``<query id>/<batch id>/-/<partition>/<sequence>``. A function of your own may call it several times for one
    micro-batch: ``.1`` follows the batch id for the second call, and so on, so calls must come in the same order again.

    :param name: stands for the query's id. Needed with Spark Connect, where no function can learn that id: without
        a name, a repeated micro-batch has new ids there. It must be of this checkpoint alone: a checkpoint made anew
        begins with batch 0 again, so under the old name other rows would get ids that a destination has seen, and one
        that knows rows by their ids would drop them
    :param options: those of batch jobs, such as ``stateLocation``
    :raises ConfigurationError: the name cannot stand in a header, or an option is unknown, breaks its rule or would
        have no effect
    """
    from asyncsink.spark.typed import door_options

    if name is not None:
        _check_name(name)
    given = door_options(options, streaming=False)
    if "jobId" in given:
        raise ConfigurationError(
            f"option 'jobId' = {given['jobId']!r} would give all micro-batches one name, so that only the first would "
            "be written; leave it out: foreach_batch names each by its query and its number"
        )
    if is_transactional(sink) and "stateLocation" not in given:
        raise ConfigurationError(
            f"foreach_batch of {type(sink).__qualname__}, which delivers exactly once, needs stateLocation = ...: "
            "there it remembers which micro-batches are committed, as Spark repeats some"
        )
    return _ForeachBatch(sink, name, options)


def _check_name(name: str) -> None:
    """Refuse a name which, as the beginning of an idempotency id, no header of HTTP could carry as it is."""
    if not (name.isascii() and name.isprintable() and name == name.strip() != ""):
        raise ConfigurationError(
            f"name = {name!r} of foreach_batch begins the idempotency ids, which travel in headers; give it one or "
            "more printable ASCII characters, with no space at either end"
        )


class _ForeachBatch:
    """A class, since Spark Connect pickles it for the server."""

    def __init__(self, sink: ConfiguredSink[Any, Any, Any, Any], name: str | None, options: Mapping[str, Any]) -> None:
        self._sink, self._name, self._options = sink, name, dict(options)

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        from asyncsink.spark.typed import write

        write(self._sink, df, self._options, self._run(df, batch_id))

    def _run(self, df: DataFrame, batch_id: int) -> str | None:
        query = self._name or _local_property(df, "sql.streaming.queryId")
        if query is None:
            if is_transactional(self._sink):
                raise ConfigurationError(
                    f"foreach_batch of {type(self._sink).__qualname__}, which delivers exactly once, cannot learn the "
                    "id of the query, and would commit a repeated micro-batch again; give it a name = ..."
                )
            logger.warning(
                "foreach_batch cannot learn the id of the query, so a repeated micro-batch gets new idempotency ids; "
                "give it a name = ..."
            )
            return None
        call = _count(f"{query} {_local_property(df, 'spark.jobGroup.id')}", batch_id)
        return f"{query}/{batch_id}.{call}" if call else f"{query}/{batch_id}"


_calls: dict[str, tuple[int, int]] = {}
"""By run of a query: its micro-batch, and how many calls there have been for it."""


def _count(run: str, batch_id: int) -> int:
    """The number of calls for this micro-batch before this one. A run of a query never comes to a batch again."""
    known, calls = _calls.get(run, (batch_id, 0))
    before = calls if known == batch_id else 0
    _calls[run] = (batch_id, before + 1)
    return before


def _local_property(df: DataFrame, key: str) -> str | None:
    """A property that Spark has set in the thread of the micro-batch; None with Spark Connect, which shows none."""
    from asyncsink.spark.formats import of_context

    return of_context(df.sparkSession, lambda context: context.getLocalProperty(key))
