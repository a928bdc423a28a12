"""A user's own converter in the place of the sink's: a class of converters, one of them, or a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from inspect import Parameter, isabstract, iscoroutinefunction, signature
from typing import TYPE_CHECKING, Any

from asyncsink.blocks import ListBlock
from asyncsink.context import InitContext, Schema, WriteContext
from asyncsink.converter import ElementConverter
from asyncsink.errors import AsyncSinkError, ConfigurationError

if TYPE_CHECKING:
    from asyncsink.configured_sink import ConfiguredSink

OwnConverter = ElementConverter[Any, Any] | type[ElementConverter[Any, Any]] | Callable[[Any], Any]
"""What :meth:`ConfiguredSink.with_converter` takes."""


def maker_of(
    given: OwnConverter, sink: ConfiguredSink[Any, Any, Any, Any]
) -> Callable[[Schema | None], ElementConverter[Any, Any]]:
    """What takes the place of ``sink.converter``: makes a converter for each writer. Can be pickled if `given` can.

    :param sink: whose own converter completes what a function returns
    :raises ConfigurationError: `given` is no converter, is abstract or asynchronous, or cannot be called with a row
    """
    if isinstance(given, type):
        _check_class(given)
    elif not isinstance(given, ElementConverter):
        _check_function(given)
    return _Maker(given, sink)


class _Maker:
    def __init__(self, given: OwnConverter, sink: ConfiguredSink[Any, Any, Any, Any]) -> None:
        self._given, self._sink = given, sink

    def __call__(self, schema: Schema | None) -> ElementConverter[Any, Any]:
        given, sink = self._given, self._sink
        if isinstance(given, type):
            made = _instance(given, schema)
        elif isinstance(given, ElementConverter):
            made = copy(given)  # each writer opens one of its own
        else:
            made = _named(given, FunctionConverter)(given, sink.converter(None))
        return made if hasattr(made, "apply_batch") else _named(made, RowConverter)(made, sink)


class FunctionConverter(ElementConverter[Any, Any]):
    """Converts what a function makes of an element, as if that had been written."""

    def __init__(self, function: Callable[[Any], Any], then: ElementConverter[Any, Any]) -> None:
        self._function, self._then = function, then

    def open(self, context: InitContext) -> None:
        self._then.open(context)

    def apply(self, element: Any, context: WriteContext) -> Any:
        return self._then.apply(self._function(element), context)

    def apply_many(self, elements: Sequence[Any], context: WriteContext) -> list[Any]:
        return self._then.apply_many([*map(self._function, elements)], context)


class RowConverter(ElementConverter[Any, Any]):
    """Gives a converter of rows those of an Arrow batch, so that a row that Python cannot hold concerns it alone."""

    def __init__(self, inner: ElementConverter[Any, Any], sink: ConfiguredSink[Any, Any, Any, Any]) -> None:
        self._inner, self._sink = inner, sink

    def open(self, context: InitContext) -> None:
        self._inner.open(context)

    def apply(self, element: Any, context: WriteContext) -> Any:
        return self._inner.apply(element, context)

    def apply_many(self, elements: Sequence[Any], context: WriteContext) -> list[Any]:
        return self._inner.apply_many(elements, context)

    def apply_batch(self, batch: Any, context: WriteContext) -> ListBlock[Any]:
        """Convert the rows of a ``pyarrow.RecordBatch``."""
        from asyncsink.arrow.rows import rows_of

        entries = self._inner.apply_many(rows_of(batch), context)
        return ListBlock(entries, self._sink.sizes(entries))


def _check_class(given: type) -> None:
    if not issubclass(given, ElementConverter):
        raise ConfigurationError(
            f"converter {_name_of(given)} is a class and no ElementConverter; derive it from "
            "asyncsink.ElementConverter, or give a function that takes a row"
        )
    if isabstract(given):
        missing = ", ".join(sorted(given.__abstractmethods__))
        raise ConfigurationError(f"converter {_name_of(given)} is abstract; define its method {missing}")
    if (needed := _required(given)) and len(needed) > 1:
        raise ConfigurationError(
            f"converter {_name_of(given)} takes {', '.join(needed)}; a class is made with nothing or with the "
            "schema, so give an instance instead"
        )


def _check_function(given: Any) -> None:
    if not callable(given):
        raise ConfigurationError(
            f"converter = {given!r} is neither an ElementConverter nor a function; give one that takes a row"
        )
    if iscoroutinefunction(given):
        raise ConfigurationError(f"converter {_name_of(given)} is asynchronous; a converter does no I/O, so use def")
    try:
        wanted = signature(given)
    except ValueError:
        return  # some builtins tell nothing of what they take
    try:
        wanted.bind(None)
    except TypeError as error:
        raise ConfigurationError(
            f"converter {_name_of(given)} cannot be called with a row alone: {error}; it must take one argument"
        ) from error


def _instance(given: type[ElementConverter[Any, Any]], schema: Schema | None) -> ElementConverter[Any, Any]:
    make: Callable[..., ElementConverter[Any, Any]] = given
    try:
        if "schema" in signature(given).parameters:
            return make(schema=schema)
        return make(schema) if _required(given) else make()
    except AsyncSinkError:
        raise
    except Exception as error:
        columns = "without a schema" if schema is None else f"for the columns {', '.join(schema.names)}"
        raise ConfigurationError(
            f"converter {_name_of(given)} could not be made {columns}: {type(error).__name__}: {error}"
        ) from error


def _required(given: type) -> list[str]:
    kinds = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return [
        name
        for name, parameter in signature(given).parameters.items()
        if parameter.default is Parameter.empty and parameter.kind not in kinds
    ]


def _name_of(given: object) -> str:
    return str(getattr(given, "__qualname__", type(given).__qualname__))


def _named(given: object, kind: type[Any]) -> type[Any]:
    """A subclass with the name of what the user gave, since errors name a converter by its class."""
    name = type(given).__qualname__ if isinstance(given, ElementConverter) else _name_of(given)
    return type(name, (kind,), {})
