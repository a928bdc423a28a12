"""The sink: how requests are made of entries, and what their answers mean."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from asyncsink.async_sink import AsyncSink
from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.context import InitContext, Schema
from asyncsink.errors import ConfigurationError
from asyncsink.failures import ErrorTable
from asyncsink.request import RequestEntries, RequestResult
from asyncsink_http.answers.codes import ERRORS, is_stored, refusal
from asyncsink_http.answers.retry_after import retry_after_s
from asyncsink_http.bodies.framing import compress, encode_body, overhead_in_bytes
from asyncsink_http.entries.converter import HttpConverter, HttpEntry, KeyedEntry
from asyncsink_http.entries.serializer import HttpEntrySerializer
from asyncsink_http.options import HttpOptions

if TYPE_CHECKING:
    from asyncsink_http.client.httpcore_transport import SlotTransport


class HttpSink(AsyncSink[Any, HttpEntry, "SlotTransport"]):
    """Sends rows as JSON to one URL: ``HttpSink(url="https://api.example.com/rows")``.

    A 2xx answer stores a whole request, every other stores none of it; the README lists what follows each. Delivery is
    at least once: a request whose answer is lost is sent again, with the same ``Idempotency-Key``. Elements are rows
    as mappings, or payloads as bytes or strings. Sizes are those of the body before compression.

    :raises ConfigurationError: an option breaks its rule, or ``body="single"`` meets a max_batch_size other than 1
    """

    options_type: ClassVar[type[HttpOptions]] = HttpOptions
    defaults: ClassVar[AsyncSinkWriterConfig] = AsyncSinkWriterConfig(request_timeout_s=30.0)
    errors: ClassVar[ErrorTable] = ERRORS
    entry_serializer: ClassVar[HttpEntrySerializer] = HttpEntrySerializer()

    options: HttpOptions

    def __init__(
        self, options: HttpOptions | None = None, *, config: AsyncSinkWriterConfig | None = None, **values: Any
    ) -> None:
        super().__init__(options, config=config, **values)
        self._overhead = overhead_in_bytes(self.options.body)

    def default_config(self) -> AsyncSinkWriterConfig:
        return replace(self.defaults, max_batch_size=1) if self.options.body == "single" else self.defaults

    def check_config(self, config: AsyncSinkWriterConfig) -> None:
        super().check_config(config)
        if self.options.body == "single" and config.max_batch_size != 1:
            raise ConfigurationError(
                f"max_batch_size (option maxBatchSize) = {config.max_batch_size} contradicts body=single, which sends "
                "one row a request; leave it out or set it to 1, or set body=ndjson"
            )

    def connect(self, context: InitContext) -> AbstractAsyncContextManager[SlotTransport]:
        from asyncsink_http.client.httpcore_transport import SlotTransport

        return SlotTransport(self.options)

    def converter(self, schema: Schema | None) -> HttpConverter:
        return HttpConverter(schema, self.options.body, self._overhead)

    def size_in_bytes(self, entry: HttpEntry) -> int:
        payload = entry.payload if isinstance(entry, KeyedEntry) else entry
        return len(payload) + self._overhead

    async def submit_request_entries(self, entries: RequestEntries[HttpEntry], client: SlotTransport) -> RequestResult:
        options = self.options
        body = encode_body(entries, options.body)
        if options.compression == "gzip":
            body = compress(body)
        answer = await client.send(body, self._request_headers(entries))
        if is_stored(answer.status):
            return RequestResult.OK
        wait_s = retry_after_s(answer.headers)
        resent = options.idempotency_key and entries.attempt > 1
        raise refusal(options, answer.status, answer.reason, answer.text, wait_s, resent=resent)

    def _request_headers(self, entries: RequestEntries[HttpEntry]) -> dict[str, str]:
        if not self.options.idempotency_key:
            return {}
        first = entries[0]
        return {"Idempotency-Key": first.key if isinstance(first, KeyedEntry) else entries.id}
