"""Writes ``kafka-settings.md`` from the Kafka connector's tables: ``python docs/reference/kafka_settings.py``.

A test holds the page to the code, so it is run whenever a setting changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

from asyncsink_kafka.options import KafkaOptions, settings
from asyncsink_kafka.options.foreign_settings import BARE
from asyncsink_kafka.options.producer_settings import SETTINGS
from asyncsink_kafka.options.settings import Setting

PAGE = Path(__file__).with_name("kafka-settings.md")

HEAD = """# Settings of Java's Kafka producer

Made by `docs/reference/kafka_settings.py`: do not edit.

What [asyncsink.kafka](../../connectors/kafka/README.md) makes of every setting that a producer of Kafka 3.9 or 4.1 has.
Write it as Spark has it, `kafka.linger.ms`, or as Flink has it, `properties.linger.ms`; names compare without case, `-`
and `_`. Values are Java's: numbers of milliseconds and of bytes. An option and a setting may stand beside each other if
they say the same. A name in none of these tables is an error that names the nearest one.
"""

BECOMES = """## Become an option

The options themselves stand in [the table of all options](options.md).
"""

IDLE = """## Accepted, without effect

Something else does their work, or nothing has to.
"""

REFUSED = """## Refused

Something would be missing if they were passed over, so the query fails when it is planned, with the words below. The
values in the last column are accepted all the same, without case.
"""

ELSEWHERE = """## Without a prefix

Options of Flink's table connector and of Spark's Kafka source, and two of our own that take more than one word for a
value. Flink's other options that mean the same here stand in the last column of [the table of all options](options.md).
"""

VALUES: Mapping[Callable[[str], str | None], str] = {
    settings.word: "",
    settings.acknowledgements: "`-1` is `all`",
    settings.milliseconds: "ms",
    settings.lingering: "ms; `0` sends at once",
    settings.idle_time: "ms; `-1` is never",
    settings.size: "bytes",
    settings.batch_size: "bytes; with `0` each record has a batch of its own",
    settings.level: "`-1` is gzip's own",
    settings.guarantee: "Flink's names; `exactly-once` as well as `EXACTLY_ONCE`",
    settings.partitioner: "Kafka's and Flink's own classes; any other class of Java is refused",
    settings.ignored_keys: "`true` is `sticky`; `false` says nothing",
    settings.login_handler: "those of a token endpoint, which say nothing, and of MSK IAM, which are `AWS_MSK_IAM`; "
    "others are refused",
}
"""What a value is, by the function that reads it."""


def page() -> str:
    """The whole page."""
    known = tuple(SETTINGS.values())
    return (
        "\n".join(
            [
                *section(HEAD),
                *section(BECOMES, becomes(each for each in known if each.option is not None)),
                *section(IDLE, without_effect(each for each in known if each.option is None and each.harmless is None)),
                *section(REFUSED, refused(each for each in known if each.option is None and each.harmless is not None)),
                *section(ELSEWHERE, elsewhere()),
            ]
        ).rstrip()
        + "\n"
    )


def section(head: str, lines: Iterable[str] = ()) -> Iterator[str]:
    yield head
    if lines:
        yield from lines
        yield ""


def becomes(rows: Iterable[Setting]) -> Iterator[str]:
    """The settings that become an option, with how their values are read.

    :raises KeyError: a function that reads values has no words in `VALUES`
    """
    yield from table("setting", "option", "value")
    for row in rows:
        needed = f"only with {row.only_with[0]} = {row.only_with[1]}" if row.only_with else ""
        yield line(f"`{row.name}`", f"`{row.option}`", "; ".join(filter(None, (VALUES[row.convert], needed))))


def without_effect(rows: Iterable[Setting]) -> Iterator[str]:
    yield from table("settings", "why")
    for reason, members in groupby(rows, key=lambda row: row.reason):
        yield line(listed(row.name for row in members), reason)


def refused(rows: Iterable[Setting]) -> Iterator[str]:
    yield from table("settings", "why, and what to do", "but for")
    for (reason, harmless), members in groupby(rows, key=lambda row: (row.reason, row.harmless or ())):
        # Of a class its name is enough: packages move.
        accepted = (each.rpartition(".")[2] for each in harmless if each)
        yield line(listed(row.name for row in members), reason, listed(accepted))


def elsewhere() -> Iterator[str]:
    yield from table("options", "what becomes of them")
    for row in BARE.values():
        yield line(f"`{row.name}`", f"`{row.option}`; {VALUES[row.convert]}")
    for remedy, members in groupby(KafkaOptions.refused, key=lambda name: KafkaOptions.refused[name]):
        yield line(listed(members), f"refused: {remedy}")


def listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def table(*heads: str) -> Iterator[str]:
    yield line(*heads)
    yield line(*("---" for _ in heads))


def line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page())
