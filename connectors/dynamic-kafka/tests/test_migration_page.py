"""The page on moving a stream: a writer goes along with its files, and every row is stored once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import anyio
import pytest

from asyncsink import WriterOptions
from asyncsink.metrics import Metrics
from asyncsink.options import parse_options
from asyncsink_dynamic_kafka import DynamicKafkaOptions, DynamicKafkaSink
from asyncsink_testing.kafka import MockCluster
from asyncsink_testing.kafka.reading import TopicReader

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "how-to" / "kafka-migration.md").read_text()
FILES: dict[str, str] = dict(re.findall(r"^```yaml\n# (\w+)\.yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))


@pytest.fixture
def clusters() -> Iterator[Mapping[str, MockCluster]]:
    with MockCluster(topics={"orders": 2}) as blue, MockCluster(topics={"orders": 2}) as green:
        yield {"blue": blue, "green": green}


def stored(cluster: MockCluster) -> list[bytes | None]:
    reader = TopicReader(cluster.bootstrap, "orders")
    try:
        return [*reader.values()]
    finally:
        reader.close()


def test_a_writer_goes_along_and_every_row_is_stored_once(tmp_path: Path, clusters: Mapping[str, MockCluster]) -> None:
    path, metrics = tmp_path / "streams.yaml", Metrics()

    def rename(stage: str) -> None:
        text = FILES[stage]
        for name, cluster in clusters.items():
            text = text.replace(f"{name}-1:9092", cluster.bootstrap)
        (tmp_path / "new").write_text(text)
        (tmp_path / "new").replace(path)

    async def move() -> None:
        sink = DynamicKafkaSink(
            stream_ids=["orders"],
            metadata_service="file",
            metadata_service_path=str(path),
            stream_metadata_discovery_interval_s=0.05,
        )
        async with sink.open(metric_group=metrics.group) as writer:

            async def until_active(count: int) -> None:
                with anyio.fail_after(30):
                    while metrics.snapshot()["numActiveClusters"] != count:
                        await anyio.sleep(0.01)
                        await writer.flush()

            await writer.write_many([b"%d" % number for number in range(100)])
            rename("both")
            await until_active(2)
            await writer.write_many([b"%d" % number for number in range(100, 200)])
            rename("after")
            await until_active(1)
            blue = stored(clusters["blue"])
            clusters["blue"].stop_broker(1)
            await writer.write_many([b"%d" % number for number in range(200, 300)])
            await writer.flush()
            green = stored(clusters["green"])
        assert (len(blue), len(green)) == (150, 150)
        assert sorted(int(each or b"") for each in [*blue, *green]) == [*range(300)]

    rename("before")
    anyio.run(move)


def test_the_query_has_options_that_are_read() -> None:
    (query,) = re.findall(r"^```python\n# query\.py\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    given = dict(re.findall(r'\.option\("([^"]+)", "([^"]+)"\)', query))
    assert given.pop("checkpointLocation")
    options, _ = parse_options(given, DynamicKafkaOptions, WriterOptions)
    assert options.streams == ("orders",)


def test_the_options_that_are_recommended_are_read() -> None:
    given = {"streamIds": "orders", "metadataService": "http", "metadataService.url": "http://127.0.0.1:1/"}
    weighted = dict(re.findall(r"`(router[.\w]*)=([^`]+)`", PAGE))
    assert DynamicKafkaOptions.from_options({**given, **weighted}).weights == {"blue": 9, "green": 1}
