"""What sinks made of options have in common, whatever writer they make."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.context import Schema
from asyncsink.converter import ElementConverter
from asyncsink.errors import ConfigurationError
from asyncsink.options import ConnectorOptions, WriterOptions, parse_options
from asyncsink.serializer import SimpleVersionedSerializer
from asyncsink.sink import CommT, GlobalCommT, InputT, Sink, WriterStateT

if TYPE_CHECKING:
    from types import ModuleType

    from asyncsink.own_converter import OwnConverter
    from asyncsink.spark.typed import DataFrame, DataStreamWriter


class ConfiguredSink(Sink[InputT, CommT, WriterStateT, GlobalCommT], Generic[InputT, CommT, WriterStateT, GlobalCommT]):
    """A sink made of options and of a writer's limits, with a converter, and with doors of its own to Spark.

    The base of :class:`~asyncsink.AsyncSink`, and of a sink whose client batches and repeats requests by itself, so
    that its writer is another. An instance is a picklable description without I/O.
    """

    options_type: ClassVar[type[ConnectorOptions]]
    """The dataclass of the connector's own options."""
    defaults: ClassVar[AsyncSinkWriterConfig] = AsyncSinkWriterConfig()
    """The service's limits."""
    not_offered: ClassVar[Mapping[str, str]] = {}
    """Options of the writer that this sink passes over or refuses, and why: ``{"maxInFlightRequests": "..."}``."""
    entry_serializer: ClassVar[SimpleVersionedSerializer[Any] | None] = None
    """How entries become bytes, in a writer's state and in dead letters; None where they need not."""

    def __init__(
        self, options: ConnectorOptions | None = None, *, config: AsyncSinkWriterConfig | None = None, **values: Any
    ) -> None:
        """Take ready `options`, or the fields of :attr:`options_type` by name.

        :raises ConfigurationError: an option is missing, unknown or breaks its rule
        """
        if limits := [name for name in values if name in AsyncSinkWriterConfig.__dataclass_fields__]:
            raise ConfigurationError(
                f"option {limits[0]!r} is a limit of the writer, not of {type(self).__name__}; give it as "
                f"config=dataclasses.replace({type(self).__name__}(...).config, {limits[0]}=...)"
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

    @abstractmethod
    def converter(self, schema: Schema | None) -> ElementConverter[InputT, Any]:
        """The converter for rows of `schema`; also called on Spark's driver, to check the columns.

        :raises SchemaError: names the column, what was expected and what was found
        """

    @abstractmethod
    def sizes(self, entries: Sequence[Any]) -> Sequence[int]:
        """The bytes of each entry as the service counts them."""

    def default_config(self) -> AsyncSinkWriterConfig:
        """The limits where the user gives none: :attr:`defaults`, unless the options ask for others."""
        return self.defaults

    def check_config(self, config: AsyncSinkWriterConfig) -> None:
        """Refuse a configuration that this sink cannot serve; a sink with rules of its own adds them.

        :raises ConfigurationError: names the field, its value and the remedy
        """
        if config.batching != "eager" and "batching" in self.not_offered:
            raise ConfigurationError(
                f"batching = {config.batching!r} is not for {type(self).__name__}: {self.not_offered['batching']}; "
                "leave it out"
            )

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
