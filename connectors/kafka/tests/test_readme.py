"""What the README says is so: its programs run, its options are read, and its codes are what it calls them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import pytest

from asyncsink import AsyncSinkWriterConfig, WriterOptions
from asyncsink.dead_letters import DeadLetterFiles, read_dead_letters
from asyncsink.failures import FailureKind
from asyncsink.options import parse_options
from asyncsink_kafka import KafkaOptions, KafkaRecord, KafkaSink
from asyncsink_kafka.client.errors import AGAIN_UNDER_A_NEW_EPOCH, ERRORS
from asyncsink_kafka.columns import COLUMN_TYPES
from asyncsink_kafka.options.producer_settings import SETTINGS
from asyncsink_kafka.partitioning.own import ByRecord
from asyncsink_kafka.records import Records
from asyncsink_kafka.transactions.naming import DEFAULT_PREFIX
from asyncsink_kafka.transactions.timeouts import USUAL_MAXIMUM_MS
from asyncsink_testing.kafka import MockCluster
from asyncsink_testing.kafka.reading import TopicReader

README = (Path(__file__).parent.parent / "README.md").read_text()
BROKER = {"bootstrapServers": "broker:9092"}


def section(heading: str) -> str:
    return README.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def rows(heading: str) -> list[list[str]]:
    """The cells of a section's table, without its head."""
    lines = [line for line in section(heading).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`=]+)`", cell)


@cache
def block(word: str) -> dict[str, Any]:
    """The names that the one block of Python with a word in it makes."""
    (code,) = (each for each in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if word in each)
    made: dict[str, Any] = {"__name__": "readme"}
    exec(compile(code, "README.md", "exec", dont_inherit=True), made)
    return made


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockCluster]:
    with MockCluster(topics={"flights": 3, "orders": 1}) as cluster:
        yield cluster


def stored(cluster: MockCluster, topic: str) -> list[bytes | None]:
    reader = TopicReader(cluster.bootstrap, topic)
    try:
        return [*reader.values()]
    finally:
        reader.close()


def test_the_program_runs_as_it_stands(cluster: MockCluster) -> None:
    anyio.run(block("async def main")["main"], cluster.bootstrap)
    expected = [b"on time", b"late", *(b"flight %d" % number for number in range(1000))]
    assert sorted(each or b"" for each in stored(cluster, "flights")) == sorted(expected)


def test_the_program_for_dead_letters_sends_them_again(cluster: MockCluster, tmp_path: Path) -> None:
    async def write_into_a_limit() -> None:
        config = AsyncSinkWriterConfig(
            on_rejected="dead_letter", dead_letters=DeadLetterFiles(tmp_path), max_record_size_in_bytes=100
        )
        async with KafkaSink(bootstrap_servers=cluster.bootstrap, config=config).open() as writer:
            await writer.write_many([{"topic": "orders", "value": "x" * 200}, {"topic": "orders", "value": "short"}])

    anyio.run(write_into_a_limit)
    assert stored(cluster, "orders") == [b"short"]
    assert [each.code for each in read_dead_letters(tmp_path)] == ["MESSAGE_TOO_LARGE"]
    anyio.run(block("async def again")["again"], cluster.bootstrap, str(tmp_path))
    assert stored(cluster, "orders") == [b"short", b"x" * 200]


def test_every_set_of_security_options_is_taken() -> None:
    sets = {name: value for name, value in block("mutual_tls").items() if isinstance(value, dict) and name[0] != "_"}
    assert len(sets) == 8
    mechanisms = set()
    for options in sets.values():
        kafka, _ = parse_options({**BROKER, **options}, KafkaOptions, WriterOptions)
        assert kafka.encrypted
        mechanisms.add(kafka.sasl_mechanism)
    assert mechanisms == {None, "PLAIN", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM", "GSSAPI"}


def test_the_options_for_exactly_once_are_taken() -> None:
    kafka, _ = parse_options({**BROKER, **block("deliveryGuarantee")["once"]}, KafkaOptions, WriterOptions)
    assert (kafka.is_transactional, kafka.transaction_prefix) == (True, "flights")


def test_the_query_has_options_that_are_read() -> None:
    (query,) = re.findall(r"```python\nquery = (.*?)```", README, re.DOTALL)
    options = dict(re.findall(r'\.option\("([^"]+)", "([^"]+)"\)', query))
    assert options.pop("checkpointLocation")
    kafka, _ = parse_options(options, KafkaOptions, WriterOptions)
    assert (kafka.bootstrap_servers, kafka.topic) == ("broker:9092", "flights")


def test_the_partitioner_chooses_by_what_its_key_begins_with() -> None:
    partitioner = ByRecord("company.partitions:ByCountry", block("class ByCountry")["ByCountry"]().partition)
    records = Records.of([KafkaRecord(key=b"US-7"), KafkaRecord(key=b"DE-7"), KafkaRecord()])
    assert partitioner.partition_many("flights", records, 3, range(3)).tolist() == [1, 0, 0]


def test_the_table_of_columns_has_each_column() -> None:
    assert {name for cells in rows("Columns") for name in names(cells[0])} == set(COLUMN_TYPES)


def test_every_option_is_in_the_readme_or_belongs_to_security() -> None:
    told = {name for cells in rows("Options") for name in names(cells[0])}
    own = {each.name for each in KafkaOptions.describe()}
    assert told <= own | {each.name for each in WriterOptions.describe()}
    left = {name for name in own - told if not name.startswith(("sasl", "ssl", "aws"))}
    assert left == {"connectionsMaxIdle"}


def test_each_of_javas_names_becomes_the_option_beside_it() -> None:
    settings = {each.name: each.option for each in SETTINGS.values()}
    beside = {java: names(option)[0] for option, java_names, *_ in rows("Options") for java in names(java_names)}
    assert len(beside) > 15
    for java, option in beside.items():
        assert settings[java] == option, java


def test_each_default_in_the_table_is_the_codes() -> None:
    defaults = {names(option)[0]: default for option, _, default, *_ in rows("Options")}
    config = KafkaSink.defaults
    batch_size = KafkaOptions(bootstrap_servers="b").batch_size_in_bytes
    assert defaults["batchSizeInBytes"] == f"{batch_size:,}".replace(",", " ")
    assert defaults["maxTimeInBuffer"] == f"{config.max_time_in_buffer_s * 1000:g} ms"
    assert defaults["maxBufferedSizeInBytes"] == f"{config.max_buffered_size_in_bytes >> 20} MiB"
    assert defaults["maxRecordSizeInBytes"] == f"{config.max_record_size_in_bytes >> 20} MiB"
    assert defaults["requestTimeout"] == f"{config.request_timeout_s:g} s"
    assert defaults["retry.timeout"] == f"{config.retry.timeout_s:g} s"
    assert defaults["transactionalIdPrefix"] == f"`{DEFAULT_PREFIX}`"
    assert defaults["transactionTimeout"] == f"the brokers' maximum, usually {USUAL_MAXIMUM_MS // 60_000} min"
    assert defaults["retry.initialBackoff"] == f"{config.retry.initial_backoff_s * 1000:g} ms"


def test_each_code_is_of_the_kind_that_the_table_says() -> None:
    kinds = {"retriable": FailureKind.RETRYABLE, "of records": FailureKind.REJECTED, "fatal": FailureKind.FATAL}
    seen = 0
    for codes, meaning, _ in rows("What an error means"):
        kind = next((kind for word, kind in kinds.items() if meaning.startswith(f"**{word}**")), None)
        for code in names(codes):
            seen += 1
            if kind is None:
                assert code in AGAIN_UNDER_A_NEW_EPOCH
            else:
                assert ERRORS.kind_of(code) is kind, code
                assert kind is not FailureKind.FATAL or ERRORS.remedy(code)
    assert seen > 20
    told = {code for cells in rows("What an error means") for code in names(cells[0])}
    assert ERRORS.rejected <= told
