"""Converters of a user's own, in a module that every Python of Spark's can import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from asyncsink import ElementConverter, InitContext, Schema, WriteContext


def shout(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the toy's from one that it does not take."""
    if row["word"] == "unspeakable":
        raise ValueError("not that word")
    return {"id": row["word"].upper()}


class Columns(ElementConverter[Mapping[str, Any], str]):
    """Entries with the names of the columns, which the driver has told."""

    def __init__(self, schema: Schema | None) -> None:
        assert schema is not None
        self._names = ",".join(schema.names)

    def open(self, context: InitContext) -> None:
        self._partition = context.writer_id

    def apply(self, element: Mapping[str, Any], context: WriteContext) -> str:
        return f"{self._names} {[*element.values()]} of {self._partition}"


class Unfinished(ElementConverter[Any, Any]):
    """Lacks its one method."""
