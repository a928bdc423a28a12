"""A text with the values of a row in it, such as ``/orders/{id}``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from asyncsink.context import Schema
from asyncsink.errors import ConfigurationError
from asyncsink_http.templates.checks import column_for
from asyncsink_http.templates.encoders import Encoder

if TYPE_CHECKING:
    import pyarrow as pa

_TOKEN = re.compile(r"(?P<brace>\{\{|\}\})|\{(?P<column>[^{}]+)\}|(?P<stray>[{}])")


class Placeholder(NamedTuple):
    """Where the value of a column stands, and how it is written there."""

    column: str
    encoder: Encoder


@dataclass(frozen=True, slots=True)
class Template:
    """Text and placeholders in turn: ``{column}``; ``{{`` and ``}}`` stand for braces. Picklable.

    A value is written so that it stays within its place, or it is refused with its row: no row becomes another text
    than the template shows.

    :param option: where the user wrote it, for messages
    :param is_secret: whether no message may quote it, the names of its columns included
    """

    option: str
    parts: tuple[str | Placeholder, ...] = field(repr=False)
    is_secret: bool = False

    @classmethod
    def parse(
        cls,
        option: str,
        text: str,
        encoder: Encoder,
        others: Mapping[str, Encoder] | None = None,
        *,
        is_secret: bool = False,
    ) -> Self:
        """The template that a user wrote.

        :param encoder: writes the values
        :param others: by name of the column, where another does
        :raises ConfigurationError: a brace neither begins nor ends a placeholder
        """
        encoders = others or {}
        parts: list[str | Placeholder] = []
        for token in _tokens(option, text):
            if not isinstance(token, str):
                parts.append(Placeholder(token[1], encoders.get(token[1], encoder)))
            elif parts and isinstance(parts[-1], str):
                parts[-1] += token
            elif token:
                parts.append(token)
        return cls(option, tuple(parts), is_secret)

    @property
    def placeholders(self) -> list[Placeholder]:
        """In order; a column may have several."""
        return [part for part in self.parts if not isinstance(part, str)]

    @property
    def columns(self) -> list[str]:
        """The columns that have a place here, each once."""
        return list(dict.fromkeys(each.column for each in self.placeholders))

    @property
    def literal(self) -> str:
        """The text of a template without placeholders, and of another what stands around them."""
        return self.with_columns_as("")

    @property
    def is_one_column(self) -> bool:
        """Whether it is the value of a column and nothing else."""
        return len(self.parts) == 1 and bool(self.placeholders)

    def with_columns_as(self, text: str) -> str:
        """The text with the same in the place of every column."""
        return "".join(part if isinstance(part, str) else text for part in self.parts)

    def bound(self, schema: Schema | None, given: tuple[str, ...] = ()) -> Template:
        """The same for rows of `schema`, whose names compare without case; without one nothing is checked.

        :param given: names of values that are no column and will stand in each row nonetheless
        :raises SchemaError: there is no such column, or its type cannot be written here
        """
        if schema is None:
            return self

        def bind(part: str | Placeholder) -> str | Placeholder:
            if isinstance(part, str) or part.column in given:
                return part
            return part._replace(column=column_for(part, schema, self.option, is_secret=self.is_secret))

        return replace(self, parts=tuple(map(bind, self.parts)))

    def render(self, row: Mapping[str, Any]) -> str:
        """The text for one row.

        :raises ValueError: a column is missing, or its value has no form here
        """
        return "".join(part if isinstance(part, str) else self._written(part, row) for part in self.parts)

    def render_columns(self, batch: pa.RecordBatch) -> pa.Array:
        """The text for each row of a batch, as large_string without nulls; raises as :meth:`render` does."""
        from asyncsink_http.templates.columns import joined

        parts = [part if isinstance(part, str) else self._column(part, batch) for part in self.parts]
        return joined(parts, batch.num_rows)

    def _written(self, part: Placeholder, row: Mapping[str, Any]) -> str:
        if part.column not in row:
            raise ValueError(f"there is no {self._shown(part)}, and option {self.option!r} has a place for it")
        try:
            return part.encoder.of(row[part.column])
        except ValueError as error:
            raise self._located(part, error) from error

    def _column(self, part: Placeholder, batch: pa.RecordBatch) -> pa.Array:
        try:
            return part.encoder.of_column(batch, part.column)
        except ValueError as error:
            raise self._located(part, error) from error

    def _located(self, part: Placeholder, error: ValueError) -> ValueError:
        return ValueError(f"{self._shown(part)} cannot be written into option {self.option!r}: {error}")

    def _shown(self, part: Placeholder) -> str:
        return "column" if self.is_secret else f"column {part.column!r}"


def _tokens(option: str, text: str) -> Iterator[str | tuple[None, str]]:
    """What the text is made of: plain text as it is, the name of a column in a tuple."""
    position = 0
    for found in _TOKEN.finditer(text):
        yield text[position : found.start()]
        position = found.end()
        if found["stray"]:
            raise ConfigurationError(
                f"option {option!r} holds a brace that is part of no placeholder; write {{name}} for the value of a "
                "column, and {{ or }} for a brace"
            )
        yield found["brace"][0] if found["brace"] else (None, found["column"])
    yield text[position:]
