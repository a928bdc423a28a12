"""What a connector author writes: one class."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Never, Self, TypeVar

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.context import InitContext, Schema, WriterInitContext
from asyncsink.converter import ElementConverter
from asyncsink.errors import ConfigurationError
from asyncsink.failures import ErrorTable
from asyncsink.metrics import UNREGISTERED, MetricGroup
from asyncsink.options import ConnectorOptions, WriterOptions, parse_options
from asyncsink.request import RequestEntries, RequestResult
from asyncsink.serializer import BufferedRequestStateSerializer, SimpleVersionedSerializer
from asyncsink.sink import Sink
from asyncsink.state import BufferedRequestState

if TYPE_CHECKING:
    from types import ModuleType

    from asyncsink.blocking_writer import BlockingSinkWriter
    from asyncsink.own_converter import OwnConverter
    from asyncsink.spark.typed import DataFrame, DataStreamWriter
    from asyncsink.writer import AsyncSinkWriter

InputT = TypeVar("InputT")
EntryT = TypeVar("EntryT")
ClientT = TypeVar("ClientT")


class AsyncSink(Sink[InputT, Never, BufferedRequestState[EntryT], Never], Generic[InputT, EntryT, ClientT]):
    """A destination that takes batches of entries over a client that answers asynchronously (FLIP-171).

    A subclass names its :attr:`options_type`, says how to connect, how to convert, how large an entry is, and how one
    request is sent. The kernel does the rest: buffering, batching, limits, retries, order, accounting. An instance is
    a picklable description without I/O.
    """

    options_type: ClassVar[type[ConnectorOptions]]
    """The dataclass of the connector's own options."""
    defaults: ClassVar[AsyncSinkWriterConfig] = AsyncSinkWriterConfig()
    """The service's limits."""
    errors: ClassVar[ErrorTable] = ErrorTable()
    """What the service's error codes and the client's exceptions mean."""
    atomic_requests: ClassVar[bool] = False
    """Whether a request is stored whole, in order, or not at all."""
    entry_serializer: ClassVar[SimpleVersionedSerializer[Any] | None] = None
    """How entries become bytes, for a writer's state that is to be kept; None where it need not be."""

    def __init__(
        self, options: ConnectorOptions | None = None, *, config: AsyncSinkWriterConfig | None = None, **values: Any
    ) -> None:
        """Take ready `options`, or the fields of :attr:`options_type` by name.

        :raises ConfigurationError: an option is missing, unknown or breaks its rule
        """
        if limits := [name for name in values if name in AsyncSinkWriterConfig.__dataclass_fields__]:
            raise ConfigurationError(
                f"option {limits[0]!r} is a limit of the writer, not of {type(self).__name__}; give it as "
                f"config=dataclasses.replace({type(self).__name__}.defaults, {limits[0]}=...)"
            )
        self.options: Any = self.options_type.of(**values) if options is None else options
        self.config = config or self.default_config()
        self.check_config(self.config)

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Self:
        """Build a sink from the strings that a user gives Spark: its own options and those of every writer.

        :raises ConfigurationError: names the option, its value, the rule and the remedy
        """
        own, writer = parse_options(options, cls.options_type, WriterOptions)
        return cls(own, config=writer.config(cls(own).default_config()))

    @property
    def fingerprint(self) -> str:
        """A digest of class and options: equal for sinks that may share a client and what was learned with it."""
        return f"{type(self).__module__}.{type(self).__qualname__}:{self.options.fingerprint()}"

    @property
    def client_key(self) -> str:
        """By what a process keeps clients and limiters: the fingerprint, with the class's number if no module has it.

        Such a class, of a notebook or made by a function, travels to Spark's workers by value. One of the same name may
        have other code by now and connect elsewhere; the same one is the same object whenever it arrives.
        """
        kind = type(self)
        return self.fingerprint if _is_in_its_module(kind) else f"{self.fingerprint}#{id(kind)}"

    @property
    def writer_state_serializer(self) -> SimpleVersionedSerializer[BufferedRequestState[EntryT]] | None:
        return None if self.entry_serializer is None else BufferedRequestStateSerializer(self.entry_serializer)

    @abstractmethod
    def connect(self, context: InitContext) -> AbstractAsyncContextManager[ClientT]:
        """The client, entered and left by one task; kept per worker process by :attr:`client_key` under Spark."""

    @abstractmethod
    def converter(self, schema: Schema | None) -> ElementConverter[InputT, EntryT]:
        """The converter for rows of `schema`; also called on Spark's driver, to check the columns.

        :raises SchemaError: names the column, what was expected and what was found
        """

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

    def scope_of(self, route: Hashable | None) -> Hashable | None:
        """What shares limits and backoff; by default each route has its own."""
        return route

    def default_config(self) -> AsyncSinkWriterConfig:
        """The limits where the user gives none: :attr:`defaults`, unless the options ask for others."""
        return self.defaults

    def check_config(self, config: AsyncSinkWriterConfig) -> None:
        """Refuse a configuration that this sink cannot serve; a sink with rules of its own adds them.

        :raises ConfigurationError: names the field, its value and the remedy
        """
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

    def with_converter(self, converter: OwnConverter) -> Self:
        """A copy of this sink that converts elements in your own way.

        :param converter: an :class:`~asyncsink.ElementConverter`, which makes the entries itself; a class of these,
            made for each writer, with the schema if it takes one; or a function that takes an element and returns one
            that this sink takes without a schema, such as a payload. Under Spark an element is a row as a dictionary.
            Where it raises, that element has failed with the code CONVERSION.
        :raises ConfigurationError: it is none of these, is abstract or asynchronous, or cannot take a row
        """
        from asyncsink.own_converter import maker_of

        own, made = copy(self), copy(self)
        own.__dict__.pop("converter", None)
        made.__dict__["converter"] = maker_of(converter, own)
        return made

    def write(self, df: DataFrame, **options: Any) -> None:
        """Write a DataFrame of Spark as one batch job; returns once every row is acknowledged, or given up for good.

        :param options: of the door to Spark, such as ``stateLocation``; the sink has its own already
        :raises ConfigurationError: PySpark is missing, or an option is unknown or breaks its rule
        :raises SchemaError: the sink cannot take the columns
        """
        _typed_door().write(self, df, options)

    def write_stream(self, df: DataFrame, **options: Any) -> DataStreamWriter:
        """Spark's writer of a streaming DataFrame to this sink; go on with what every query needs.

        ::

            HttpSink(url=...).write_stream(df).option("checkpointLocation", folder).trigger(availableNow=True).start()

        Options may be given here, too, as ``checkpointLocation=folder``; raises as :meth:`write` does.
        """
        writer: DataStreamWriter = _typed_door().write_stream(self, df, options)
        return writer


def _typed_door() -> ModuleType:
    try:
        from asyncsink.spark import typed
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "pyspark":
            raise
        raise ConfigurationError(
            "PySpark is not installed, so there is no DataFrame to write; pip install 'asyncsink-core[spark]'"
        ) from error
    return typed


def _is_in_its_module(kind: type) -> bool:
    """Whether a class is what an import by its name would find."""
    found: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is kind
