"""Metadata in a file: read again when it has changed, and left as it was known while it cannot be read."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import anyio
import pytest

from asyncsink_dynamic_kafka import MetadataError, MetadataUnavailableError
from asyncsink_dynamic_kafka.metadata.discovery import discovering
from asyncsink_dynamic_kafka.metadata.file import FileMetadataService
from asyncsink_dynamic_kafka.metadata.subscribers import KafkaStreamSetSubscriber

YAML = """
- streamId: orders
  clusterMetadataList:
    - clusterId: {cluster}
      bootstrapServers: a:1
      topics: [orders]
"""
JSON = """
{{"version": 1, "streams": {{"orders": {{"clusters": {{
    "{cluster}": {{"bootstrapServers": "a:1", "topics": ["orders"]}}
}}}}}}}}
"""


def replace(path: Path, text: str) -> None:
    """As an operator does it: another file, renamed onto the old one."""
    new = path.with_name("new")
    new.write_text(text)
    new.replace(path)


async def clusters(service: FileMetadataService) -> set[str]:
    return {name for stream in await service.get_all_streams() for name in stream.cluster_metadata_map}


@pytest.mark.parametrize(("name", "text"), [("m.yaml", YAML), ("m.yml", JSON), ("m.JSON", JSON)])
def test_a_file_is_read_again_when_it_is_replaced(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name

    async def reads() -> None:
        path.write_text(text.format(cluster="A"))
        service = pickle.loads(pickle.dumps(FileMetadataService(path)))
        assert await clusters(service) == {"A"}
        assert (await service.describe_streams(["orders", "visits"])).keys() == {"orders"}
        replace(path, text.format(cluster="B"))
        assert await clusters(service) == {"B"}
        assert [await service.is_cluster_active(each) for each in "AB"] == [False, True]

    anyio.run(reads)


def test_a_file_that_has_not_changed_is_not_read_again(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"

    async def reads() -> None:
        path.write_text(YAML.format(cluster="A"))
        service = FileMetadataService(path)
        await clusters(service)
        status = path.stat()
        # Other bytes in the same file, of the same size and time: nobody can see that it has changed.
        path.write_text(YAML.format(cluster="B"))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert await clusters(service) == {"A"}
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
        assert await clusters(service) == {"B"}

    anyio.run(reads)


def test_whether_a_cluster_is_active_is_for_the_document_that_told_of_it(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"

    async def reads() -> None:
        path.write_text(YAML.format(cluster="A"))
        service = FileMetadataService(path)
        assert await service.is_cluster_active("A")
        replace(path, YAML.format(cluster="B"))
        assert await service.is_cluster_active("A")

    anyio.run(reads)


def test_a_file_that_is_not_there_is_an_outage_and_names_the_path(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(MetadataUnavailableError, match=f"metadata file '{path}' cannot be read: "):
            anyio.run(FileMetadataService(path).get_all_streams)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("m.json", JSON.format(cluster="A")[:40], "m.json' cannot be used: no JSON"),
        ("m.yaml", "- streamId: orders", "m.yaml' cannot be used: stream 'orders' has no field"),
        ("m.yaml", "", "m.yaml' cannot be used: the document is of type NoneType"),
    ],
)
def test_a_file_that_is_half_written_is_named(tmp_path: Path, name: str, text: str, told: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(MetadataError, match=told):
        anyio.run(FileMetadataService(path).get_all_streams)


def test_no_file_of_any_size_is_read(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    with path.open("wb") as file:
        file.truncate((16 << 20) + 1)
    with pytest.raises(MetadataError, match=r"at most 16777216 bytes; it has 16777217"):
        anyio.run(FileMetadataService(path).get_all_streams)


def test_a_file_system_that_hangs_is_given_up_and_not_waited_for_twice(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    # Opening it waits for somebody who writes.
    os.mkfifo(path)

    async def hangs() -> None:
        service = FileMetadataService(path)
        try:
            with anyio.move_on_after(1) as scope:
                await service.get_all_streams()
            assert scope.cancelled_caught
            with pytest.raises(MetadataUnavailableError, match="is still being read; its file system hangs"):
                await service.get_all_streams()
        finally:
            os.close(os.open(path, os.O_RDWR))

    anyio.run(hangs)


def test_a_stream_migrates_by_editing_the_file(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"

    async def migrates() -> None:
        path.write_text(YAML.format(cluster="A"))
        subscriber = KafkaStreamSetSubscriber(frozenset({"orders"}))
        async with (
            discovering(FileMetadataService(path), subscriber, interval_s=0.001, failure_threshold=0) as discovery,
            anyio.create_task_group() as group,
        ):
            await discovery.ready()
            path.write_text("- streamId: orders")
            with pytest.raises(MetadataUnavailableError, match="has no field 'clusterMetadataList'"):
                await discovery.run()
            assert discovery.current is not None
            assert set(discovery.current.clusters) == {"A"}
            replace(path, YAML.format(cluster="B"))
            group.start_soon(discovery.run)
            with anyio.fail_after(30):
                await discovery.changed(1)
            assert set(discovery.current.clusters) == {"B"}
            assert not discovery.failures
            group.cancel_scope.cancel()

    anyio.run(migrates)
