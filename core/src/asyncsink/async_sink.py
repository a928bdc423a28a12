"""What a connector author writes: one class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, ClassVar, Generic, Never, TypeVar

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.configured_sink import ConfiguredSink
from asyncsink.context import InitContext, WriterInitContext
from asyncsink.errors import ConfigurationError
from asyncsink.failures import ErrorTable
from asyncsink.metrics import UNREGISTERED, MetricGroup
from asyncsink.request import RequestEntries, RequestResult
from asyncsink.serializer import BufferedRequestStateSerializer, SimpleVersionedSerializer
from asyncsink.state import BufferedRequestState

if TYPE_CHECKING:
    from asyncsink.blocking_writer import BlockingSinkWriter
    from asyncsink.writer import AsyncSinkWriter

InputT = TypeVar("InputT")
EntryT = TypeVar("EntryT")
ClientT = TypeVar("ClientT")


class AsyncSink(ConfiguredSink[InputT, Never, BufferedRequestState[EntryT], Never], Generic[InputT, EntryT, ClientT]):
    """A destination that takes batches of entries over a client that answers asynchronously (FLIP-171).

    A subclass names its :attr:`options_type`, says how to connect, how to convert, how large an entry is, and how one
    request is sent. The kernel does the rest: buffering, batching, limits, retries, order, accounting. An instance is
    a picklable description without I/O.
    """

    errors: ClassVar[ErrorTable] = ErrorTable()
    """What the service's error codes and the client's exceptions mean; see :meth:`error_table`."""
    atomic_requests: ClassVar[bool] = False
    """Whether a request is stored whole, in order, or not at all."""

    @property
    def writer_state_serializer(self) -> SimpleVersionedSerializer[BufferedRequestState[EntryT]] | None:
        return None if self.entry_serializer is None else BufferedRequestStateSerializer(self.entry_serializer)

    @abstractmethod
    def connect(self, context: InitContext) -> AbstractAsyncContextManager[ClientT]:
        """The client, entered and left by one task; kept per worker process by :attr:`client_key` under Spark."""

    def connected(self, client: ClientT) -> None:
        """Take from the client what the service tells of itself, such as routes or limits; by default nothing.

        Each writer calls it once, with the client that it has got or leased, before it takes over restored entries,
        opens its converter and takes elements: :meth:`max_record_size_in_bytes`, :meth:`route_of`, :meth:`key_of` and
        the sizes may rest on it. It does no I/O; what has to be asked is asked in :meth:`connect`. A sink has writers
        with different clients if it is used more than once. What it raises gives the client back and ends the writer,
        and what was to be restored stays in the snapshot.
        """

    def error_table(self) -> ErrorTable:
        """What codes and exceptions mean in a writer of this sink, asked once for each; by default :attr:`errors`.

        A sink whose options move codes from one kind to another makes its table here.
        """
        return self.errors

    def max_record_size_in_bytes(self, config: AsyncSinkWriterConfig) -> int:
        """The bytes that an entry may have in this writer; asked once, after :meth:`connected`.

        By default what `config` says. It may not exceed ``config.max_batch_size_in_bytes``: the writer raises
        :class:`~asyncsink.ConfigurationError` then.
        """
        return config.max_record_size_in_bytes

    @abstractmethod
    def size_in_bytes(self, entry: EntryT) -> int:
        """The bytes of an entry as the service counts them."""

    def sizes(self, entries: Sequence[EntryT]) -> Sequence[int]:
        """The bytes of each entry; by default :meth:`size_in_bytes` of each."""
        size_of = self.size_in_bytes
        return [size_of(entry) for entry in entries]  # a seventh faster than map, which goes through C and back

    @abstractmethod
    async def submit_request_entries(self, entries: RequestEntries[EntryT], client: ClientT) -> RequestResult:
        """Send one request and say what became of each entry. Called concurrently; retries nothing itself.

        :raises RequestError: the request failed as a whole
        :raises OSError: the outcome is unknown; so does TimeoutError and what :attr:`errors` names as retryable
        """

    def key_of(self, entry: EntryT) -> Hashable | None:
        """The key whose entries belong in order; None for an entry without order."""
        return None

    def route_of(self, entry: EntryT) -> Hashable | None:
        """Entries of different routes never share a request."""
        return None

    @property
    def has_routes(self) -> bool:
        """Whether entries have routes at all, asked once for each writer; by default if :meth:`route_of` is overridden.

        A sink that has routes by an option alone says so here: without them nobody asks for the route of each entry.
        """
        return type(self).route_of is not AsyncSink.route_of

    def scope_of(self, route: Hashable | None) -> Hashable | None:
        """What shares limits and backoff; by default each route has its own."""
        return route

    def check_config(self, config: AsyncSinkWriterConfig) -> None:
        """Refuse a configuration that this sink cannot serve; a sink with rules of its own adds them.

        :raises ConfigurationError: names the field, its value and the remedy
        """
        super().check_config(config)
        if config.ordering == "key" and type(self).key_of is AsyncSink.key_of:
            raise ConfigurationError(
                f"ordering = 'key' needs keys, and {type(self).__name__} has none: it does not override key_of; "
                "use ordering = 'none', or a sink whose entries have keys"
            )

    def create_writer(
        self, context: InitContext, states: Sequence[BufferedRequestState[EntryT]] = ()
    ) -> AsyncSinkWriter[InputT, EntryT]:
        from asyncsink.writer import AsyncSinkWriter

        return AsyncSinkWriter(self, context, self.config, states)

    def open(
        self,
        config: AsyncSinkWriterConfig | None = None,
        states: Sequence[BufferedRequestState[EntryT]] = (),
        metric_group: MetricGroup = UNREGISTERED,
    ) -> AsyncSinkWriter[InputT, EntryT]:
        """A writer for programs without Spark: ``async with sink.open() as writer: await writer.write(element)``.

        :param metric_group: where the writer tells of itself, such as ``Metrics().group.add_group("orders")``
        """
        from asyncsink.writer import AsyncSinkWriter

        return AsyncSinkWriter(self, WriterInitContext(metric_group=metric_group), config or self.config, states)

    def open_blocking(
        self,
        config: AsyncSinkWriterConfig | None = None,
        states: Sequence[BufferedRequestState[EntryT]] = (),
        metric_group: MetricGroup = UNREGISTERED,
    ) -> BlockingSinkWriter[InputT, EntryT]:
        """A writer for programs without an event loop: ``with sink.open_blocking() as writer: writer.write(element)``.

        It runs on a loop in a thread of its own; the parameters are those of :meth:`open`.
        """
        from asyncsink.blocking_writer import BlockingSinkWriter

        return BlockingSinkWriter(self.open(config, states, metric_group))
