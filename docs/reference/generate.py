"""Writes ``options.md`` from what the connectors declare: ``python docs/reference/generate.py``.

A test holds the page to the code, so it is run whenever an option changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from asyncsink import ConfiguredSink, OptionInfo, WriterOptions
from asyncsink.options.door import DoorOptions
from asyncsink.plugins import available, load_options, load_sink

PAGE = Path(__file__).with_name("options.md")

HEAD = """# Options

Made by `docs/reference/generate.py`: do not edit.

Keys are compared without case, `-` and `_`: `maxBatchSize`, `max_batch_size` and `MAXBATCHSIZE` are one option. An
option that nobody knows is an error that names the nearest one. Durations are numbers of seconds or words like
`500ms`, `30 s`, `5min`; sizes are numbers of bytes or words like `64k`, `5MiB`, `1g`. An alias with a unit behind it
counts plain numbers in that unit. An option with a unit is also read with the unit in its name, as error messages
have it: `retry.timeout_s`. What is marked as secret is in no log and no error of asyncsink.
Spark itself may show options that are given by name, `header.<name>` for one:
[how to keep them hidden](../how-to/spark-doors.md#secrets).
"""

SPARK = """## Every connector, with Spark

What the first three keep is [told by a command](../how-to/what-became-of-my-rows.md).
"""


def page() -> str:
    """The whole page, for the connectors that are installed."""
    names = [each.name for each in available()]
    if not names:
        raise SystemExit("no connector is installed, so the page would be empty; install them: pip install -e ...")
    return "\n".join([HEAD, *spark(), *(part for name in names for part in connector(name))]).rstrip() + "\n"


def spark() -> Iterator[str]:
    """The table of what Spark's hooks read for themselves, whatever the connector."""
    yield SPARK
    yield from table(DoorOptions.describe())
    yield ""


def connector(name: str) -> Iterator[str]:
    """The tables of one connector: its own options, and those of every writer with the defaults it gives them."""
    sink: Any = load_sink(name)
    yield f"## asyncsink.{name}\n"
    yield from table(load_options(name).describe())
    yield f"\n### The writer of asyncsink.{name}\n"
    yield from table(with_reasons(with_defaults(WriterOptions.describe(), sink), sink.not_offered))
    yield ""


def with_defaults(rows: Iterable[OptionInfo], sink: type[ConfiguredSink[Any, Any, Any, Any]]) -> Iterator[OptionInfo]:
    """The writer's options with the values that they have if nobody sets them."""
    config = sink.defaults
    values = {each.name: getattr(config, each.name) for each in fields(config)}
    values |= {f"retry.{each.name}": getattr(config.retry, each.name) for each in fields(config.retry)}
    values["rate_limit"] = config.rate_limit.kind
    known = {spelled(name): value for name, value in values.items()}
    for row in rows:
        value = known.get(row.name.lower(), row.default)
        yield replace(row, default=str(value).lower() if isinstance(value, bool) else str(value))


def with_reasons(rows: Iterable[OptionInfo], not_offered: Mapping[str, str]) -> Iterator[OptionInfo]:
    """The writer's options; of those that the sink does not offer, why, in place of default and meaning.

    :raises SystemExit: an option that is not offered is none of the writer's
    """
    left = dict(not_offered)
    for row in rows:
        reason = left.pop(row.name, None)
        yield row if reason is None else replace(row, default="", doc=f"Not with this connector: {reason}.")
    if left:
        raise SystemExit(f"a sink does not offer {', '.join(left)}, and its writer has no such option; see not_offered")


def spelled(field: str) -> str:
    """A field's name as its option's, without case: no unit of time behind it, no underscores."""
    return field.removesuffix("_s").replace("_", "").lower()


def table(rows: Iterable[OptionInfo]) -> Iterator[str]:
    yield "| option | type | default | meaning | also read as |"
    yield "| --- | --- | --- | --- | --- |"
    for row in rows:
        kind = ", ".join(choice or "empty" for choice in row.type.split(" | "))
        name = f"`{row.name}<name>`" if row.name.endswith(".") else f"`{row.name}`"
        doc = f"{row.doc} Secret." if row.secret else row.doc
        aliases = ", ".join(f"`{alias}`" for alias in row.aliases)
        yield f"| {name} | {kind} | {row.default} | {doc} | {aliases} |"


if __name__ == "__main__":
    PAGE.write_text(page())
