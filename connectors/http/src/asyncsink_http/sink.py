"""The sink: how requests are made of entries, and what their answers mean."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import AbstractAsyncContextManager
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from asyncsink.async_sink import AsyncSink
from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.context import InitContext, Schema
from asyncsink.errors import ConfigurationError
from asyncsink.failures import ErrorTable
from asyncsink.metrics import UNREGISTERED, MetricGroup
from asyncsink.request import RequestEntries, RequestResult
from asyncsink.state import BufferedRequestState
from asyncsink_http.answers.items import item_results_of
from asyncsink_http.answers.judging import AnswerJudge
from asyncsink_http.answers.statuses import StatusTable
from asyncsink_http.bodies.body import Body, body_of
from asyncsink_http.entries.converter import HttpConverter
from asyncsink_http.entries.entry import HttpEntry, Row, payload_of
from asyncsink_http.entries.row_columns import NamedColumns
from asyncsink_http.entries.serializer import HttpEntrySerializer
from asyncsink_http.entries.target import Target
from asyncsink_http.entries.targets import default_target
from asyncsink_http.options import HttpOptions
from asyncsink_http.requests.building import RequestBuilder
from asyncsink_http.urls import origin_of

if TYPE_CHECKING:
    from asyncsink.writer import AsyncSinkWriter
    from asyncsink_http.client.client import HttpClient


class HttpSink(AsyncSink[Any, HttpEntry, "HttpClient"]):
    """Sends rows to an HTTP API, by default as JSON arrays: ``HttpSink(url="https://api.example.com/rows")``.

    A 2xx answer stores a whole request, every other none of it, unless options say otherwise or have answers judge each
    row; the README lists what follows each. Delivery is at least once: a request whose answer is lost is sent again,
    with the same ``Idempotency-Key``. Elements are rows as mappings, or payloads as bytes or strings. Sizes are those
    of the body before compression.

    :raises ConfigurationError: an option breaks its rule, or a body of one row meets a max_batch_size other than 1
    """

    options_type: ClassVar[type[HttpOptions]] = HttpOptions
    defaults: ClassVar[AsyncSinkWriterConfig] = AsyncSinkWriterConfig(request_timeout_s=30.0)
    entry_serializer: ClassVar[HttpEntrySerializer] = HttpEntrySerializer()

    options: HttpOptions

    def __init__(
        self, options: HttpOptions | None = None, *, config: AsyncSinkWriterConfig | None = None, **values: Any
    ) -> None:
        super().__init__(options, config=config, **values)
        resolved = self.options.resolved()
        self._resolved = resolved
        self._body: Body = body_of(resolved)
        self._has_routes = resolved.has_templates
        self._is_repeated = self.config.batching == "deterministic"
        self._builder = RequestBuilder(resolved, self._body, is_repeated=self._is_repeated)
        self._statuses = StatusTable.of(resolved)
        self._judge = AnswerJudge(resolved, self._statuses, is_repeated=self._is_repeated)

    def default_config(self) -> AsyncSinkWriterConfig:
        return replace(self.defaults, max_batch_size=1) if self._sends_one_row else self.defaults

    def check_config(self, config: AsyncSinkWriterConfig) -> None:
        super().check_config(config)
        if self._sends_one_row and config.max_batch_size != 1:
            raise ConfigurationError(
                f"max_batch_size (option maxBatchSize) = {config.max_batch_size} contradicts "
                f"body={self.options.resolved().body}, which sends one row a request; leave it out or set it to 1, or "
                "set body=ndjson"
            )
        if config.batching == "deterministic" and self.options.resolved().item_results is not None:
            raise ConfigurationError(
                "batching = 'deterministic' contradicts itemResults: rows that fail by themselves would go again in "
                "other requests; leave one of them out"
            )

    def error_table(self) -> ErrorTable:
        return self._statuses.errors()

    def connect(self, context: InitContext) -> AbstractAsyncContextManager[HttpClient]:
        from asyncsink_http.client.client import HttpClient

        item_results_of(self._resolved)  # a user's own is imported here: one that does not load stops before any row
        return HttpClient(self._resolved)

    def converter(self, schema: Schema | None) -> HttpConverter:
        return HttpConverter(schema, self._body, self._resolved)

    def size_in_bytes(self, entry: HttpEntry) -> int:
        return len(payload_of(entry)) + self._body.overhead

    async def submit_request_entries(self, entries: RequestEntries[HttpEntry], client: HttpClient) -> RequestResult:
        answer = await client.send(self._builder.build(entries))
        return self._judge.judge(answer, entries, client)

    @property
    def has_routes(self) -> bool:
        return self._has_routes

    def route_of(self, entry: HttpEntry) -> Hashable | None:
        """The target of a row that does not go to that of the options."""
        return entry.target if isinstance(entry, Row) else None

    def scope_of(self, route: Hashable | None) -> Hashable | None:
        """The host where rows may choose among several: all addresses of one share its limits and Retry-After."""
        if self._resolved.url_allow is None:
            return None
        return origin_of(route.url if isinstance(route, Target) else default_target(self._resolved).url)

    def create_writer(
        self, context: InitContext, states: Sequence[BufferedRequestState[HttpEntry]] = ()
    ) -> AsyncSinkWriter[Any, HttpEntry]:
        return AsyncSink.create_writer(self._for(context.schema, states, context.metric_group), context, states)

    def open(
        self,
        config: AsyncSinkWriterConfig | None = None,
        states: Sequence[BufferedRequestState[HttpEntry]] = (),
        metric_group: MetricGroup = UNREGISTERED,
    ) -> AsyncSinkWriter[Any, HttpEntry]:
        return AsyncSink.open(self._for(None, states, metric_group), config, states, metric_group)

    def _for(
        self, schema: Schema | None, states: Sequence[BufferedRequestState[HttpEntry]], metric_group: MetricGroup
    ) -> HttpSink:
        """This sink for a writer of such rows: only where one has a target of its own anybody asks for routes."""
        entries = (entry for state in states for entry in state.entries)
        own = copy(self)
        own._has_routes = (
            self._has_routes
            or NamedColumns.of(schema, self._resolved).decide_targets
            or any(self.route_of(entry) is not None for entry in entries)
        )
        # Of the writer and not of its client, which is kept for the next one.
        ignored_rows = metric_group.counter("ignoredRows")
        own._judge = AnswerJudge(self._resolved, self._statuses, ignored_rows, is_repeated=self._is_repeated)
        return own

    @property
    def _sends_one_row(self) -> bool:
        # Asked for by the base before it has set up the rest of this sink.
        return body_of(self.options.resolved()).one_row
