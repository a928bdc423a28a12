"""The sink and its builder: what they take, what they refuse, and what a sink is known by."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from collections.abc import Collection, Mapping
from random import Random
from typing import Any

import pytest

from asyncsink import ConfigurationError
from asyncsink.context import WriteContext
from asyncsink_dynamic_kafka import (
    DynamicKafkaSink,
    KafkaMetadataService,
    KafkaStream,
    KafkaStreamRecord,
    KafkaStreamRecordSerializer,
    MetadataError,
)
from asyncsink_dynamic_kafka.converter import DynamicKafkaConverter, SerializingConverter
from asyncsink_dynamic_kafka.routing.mirror import MirrorStreamRouter
from asyncsink_dynamic_kafka.routing.round_robin import RoundRobinReconcilableStreamRouter
from asyncsink_dynamic_kafka.routing.sticky import StickyReconcilableStreamRouter
from asyncsink_dynamic_kafka.routing.weighted import WeightedReconcilableStreamRouter

from .options import FILE, cluster_of


class Registry(KafkaMetadataService):
    """A service of a program's own."""

    def __init__(self, place: str = "here") -> None:
        self.place = place

    async def get_all_streams(self) -> Collection[KafkaStream]:
        return []

    async def describe_streams(self, stream_ids: Collection[str]) -> Mapping[str, KafkaStream]:
        return {}

    async def is_cluster_active(self, cluster_id: str) -> bool:
        return True


class LongSerializer(KafkaStreamRecordSerializer[int]):
    def __init__(self, stream_id: str) -> None:
        self.stream_id = stream_id

    def serialize(self, element: int, timestamp: int | None) -> KafkaStreamRecord:
        return KafkaStreamRecord(self.stream_id, element.to_bytes(8, "big"))


def test_the_proposals_example_builds_a_sink() -> None:
    sink = (
        DynamicKafkaSink.builder()
        .set_subscribed_stream_ids({"stream1"})
        .set_kafka_metadata_service(Registry())
        .set_kafka_stream_record_serializer(LongSerializer("stream1"))
        .set_property("stream-metadata-discovery-interval-ms", "1")
        .set_property("linger.ms", "100000")
        .build()
    )
    assert sink.options.streams == ("stream1",)
    assert sink.options.stream_metadata_discovery_interval_s == 0.001
    assert sink.config.max_time_in_buffer_s == 100.0
    converter = sink.converter(None)
    assert isinstance(converter, SerializingConverter)
    assert converter.apply(3, WriteContext()) == KafkaStreamRecord("stream1", bytes(7) + b"\3")


def test_a_builder_sets_all_that_options_do() -> None:
    sink = (
        DynamicKafkaSink.builder()
        .set_stream_pattern(re.compile("orders-.*"))
        .set_properties({"metadata-service": "file", "metadataService.path": "/shared/streams.yaml"})
        .set_delivery_guarantee("EXACTLY_ONCE")
        .set_transactional_id_prefix("team")
        .set_router("sticky")
        .set_properties({"client.id": "etl", "kafka.compression.type": "zstd", "retry.timeout": "1min"})
        .build()
    )
    assert sink.options == DynamicKafkaSink.from_options(
        {
            "streamPattern": "orders-.*", "metadataService": "file", "metadataService.path": "/shared/streams.yaml",
            "deliveryGuarantee": "exactly-once", "transactionalIdPrefix": "team", "router": "sticky",
            "kafka.client.id": "etl", "compression": "zstd",
        }
    ).options  # fmt: skip
    assert sink.config.retry.timeout_s == 60.0


def test_a_builder_tells_what_is_wrong() -> None:
    builder = DynamicKafkaSink.builder().set_subscribed_stream_ids({"a"}).set_kafka_metadata_service(Registry())
    with pytest.raises(ConfigurationError, match=r"property 'linger\.ms' is of type int; write it as a string"):
        builder.set_property("linger.ms", 5)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"option 'linger' is not known"):
        builder.set_property("linger", "5").build()
    with pytest.raises(ConfigurationError, match="stream 'a,b'; an id has no comma"):
        builder.set_subscribed_stream_ids({"a,b"})
    with pytest.raises(ConfigurationError, match="stream 7 of type int; write its id as a string"):
        builder.set_subscribed_stream_ids({7})  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="'metadataService' is missing"):
        DynamicKafkaSink.builder().set_subscribed_stream_ids({"a"}).build()


def test_a_program_gives_objects_or_names() -> None:
    sink = DynamicKafkaSink(stream_ids={"b", "a"}, metadata_service=Registry(), router=MirrorStreamRouter())
    assert sink.options.streams == ("a", "b")
    assert isinstance(sink.make_router(), MirrorStreamRouter)
    named = DynamicKafkaSink(
        stream_ids="a", metadata_service="file", metadata_service_path="/shared/streams.yaml", router="sticky"
    )
    assert isinstance(named.make_router(), StickyReconcilableStreamRouter)
    assert isinstance(named.converter(None), DynamicKafkaConverter)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"stream_ids": "a"}, "'metadataService' is missing"),
        ({"metadata_service": Registry()}, "'streamIds'"),
        (
            {"stream_ids": "a", "metadata_service": object()},
            "'metadata_service' is of type object; give an instance of ",
        ),
        ({"stream_ids": "a", "metadata_service": Registry(), "router": Random()}, "'router' is of type Random"),
        (
            {"stream_ids": "a", "metadata_service": Registry(), "kafka_stream_record_serializer": print},
            "give an instance of KafkaStreamRecordSerializer",
        ),
    ],
)
def test_what_is_missing_or_no_such_object_is_told(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        DynamicKafkaSink(**given)


def test_two_services_or_two_routers_are_one_too_many() -> None:
    options = DynamicKafkaSink.from_options({**FILE, "router": "sticky"}).options
    with pytest.raises(ConfigurationError, match="'metadataService' = 'file' is given, and an object"):
        DynamicKafkaSink(options, metadata_service=Registry())
    with pytest.raises(ConfigurationError, match="'router' = 'sticky' is given, and an object"):
        DynamicKafkaSink(options, router=MirrorStreamRouter())


def test_each_writer_has_a_router_of_its_own() -> None:
    given = RoundRobinReconcilableStreamRouter(Random(1))
    sink = DynamicKafkaSink(stream_ids="a", metadata_service=Registry(), router=given)
    one, other = sink.make_router(), sink.make_router()
    assert one is not other
    assert given not in (one, other)
    weighted = DynamicKafkaSink.from_options({**FILE, "router": "weighted", "router.weights": "a:2"})
    assert isinstance(weighted.make_router(), WeightedReconcilableStreamRouter)


def test_the_order_of_keys_needs_a_router_that_keeps_them_together() -> None:
    for router in ("round-robin", "weighted"):
        weights = {"router.weights": "a:2"} if router == "weighted" else {}
        with pytest.raises(ConfigurationError, match=f"'ordering' = 'key'.*'router' = '{router}' ignores keys"):
            DynamicKafkaSink.from_options({**FILE, **weights, "router": router, "ordering": "key"})
    for router in ("sticky", "mirror"):
        sink = DynamicKafkaSink.from_options({**FILE, "router": router, "ordering": "key"})
        assert sink.config.ordering == "key"
    with pytest.raises(ConfigurationError, match="'partitioner' = 'sticky' ignores keys"):
        DynamicKafkaSink.from_options({**FILE, "router": "sticky", "ordering": "key", "partitioner": "sticky"})
    with pytest.raises(ConfigurationError, match=r"'failOnTimeout'.*retry.timeout"):
        DynamicKafkaSink.from_options({**FILE, "failOnTimeout": "true"})


def test_sinks_share_a_discovery_only_where_they_ask_the_same_service() -> None:
    def key(place: str) -> str:
        return DynamicKafkaSink(stream_ids="a", metadata_service=Registry(place)).client_key

    assert key("here") == key("here") != key("there")
    sink = DynamicKafkaSink(stream_ids="a", metadata_service=Registry())
    assert pickle.loads(pickle.dumps(sink)).client_key == sink.client_key


def test_a_clusters_sink_has_its_own_limits_and_client() -> None:
    sink = DynamicKafkaSink.from_options({**FILE, "kafka.linger.ms": "3"})
    blue, green = (sink.cluster_sink(cluster_of({"acks": "all"}, name)) for name in ("blue", "green"))
    assert blue.options == green.options
    assert blue.client_key != green.client_key
    assert blue.config.max_time_in_buffer_s == 0.003
    assert sink.cluster_sink(cluster_of({"linger.ms": "9"})).config.max_time_in_buffer_s == 0.009
    with pytest.raises(MetadataError, match="cluster 'blue'"):
        sink.cluster_sink(cluster_of({"foo": "1"}))


def test_records_are_measured_as_java_does() -> None:
    sink = DynamicKafkaSink.from_options(FILE)
    assert sink.sizes([KafkaStreamRecord("orders", b"x" * 100)])[0] in range(165, 175)


def test_looking_at_the_sink_imports_no_client() -> None:
    heavy = ("aiokafka", "httpx", "numpy", "pyarrow", "yaml")
    code = (
        "import sys; from asyncsink_dynamic_kafka import DynamicKafkaSink; "
        f"sink = DynamicKafkaSink.from_options({dict(FILE)!r}); repr(sink.options); sink.client_key; "
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_a_program_that_opens_a_writer_cannot_deliver_exactly_once() -> None:
    sink = DynamicKafkaSink.from_options({**FILE, "deliveryGuarantee": "exactly-once"})
    with pytest.raises(ConfigurationError, match="needs somebody who commits"):
        sink.open()
    with pytest.raises(ConfigurationError, match="needs somebody who commits"):
        sink.open_blocking()
