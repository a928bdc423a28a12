"""What only a real broker judges: sequence numbers, and refusals for what a batch holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from asyncsink.errors import RequestError
from asyncsink_kafka.client import connect
from asyncsink_kafka.client.handover import Handover
from asyncsink_kafka.record import KafkaRecord
from asyncsink_testing.kafka import KafkaBroker, KafkaUnavailable

from .batches import NOW_MS, batch_of, config_of, options_for, values_in

pytestmark = [pytest.mark.anyio, pytest.mark.kafka_service, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    try:
        with KafkaBroker(properties={"auto.create.topics.enable": "false"}) as broker:
            yield broker
    except KafkaUnavailable as missing:
        pytest.skip(str(missing))


REFUSALS: dict[str, tuple[dict[str, str], list[str | KafkaRecord]]] = {
    "MESSAGE_TOO_LARGE": ({"max.message.bytes": "1000"}, ["x" * 2000]),
    "INVALID_RECORD": ({"cleanup.policy": "compact"}, [KafkaRecord(value=b"without a key")]),
    "INVALID_TIMESTAMP": (
        {"message.timestamp.before.max.ms": "1000"},
        [KafkaRecord(value=b"old", key=b"k", timestamp=NOW_MS - 10**9)],
    ),
}


@pytest.mark.parametrize("code", REFUSALS)
async def test_after_a_refusal_the_next_batch_is_in_sequence(
    broker: KafkaBroker, handover: Handover, code: str, request: pytest.FixtureRequest
) -> None:
    config, refused = REFUSALS[code]
    topic = f"refused-{code}-{type(handover).__name__}"
    broker.create_topic(topic, config=config)
    timestamp = 2**42  # far in the future, so that it is not too old

    def good(value: str) -> Any:
        return batch_of([KafkaRecord(value=value.encode(), key=b"k", timestamp=_now_ms())])

    assert timestamp > NOW_MS
    async with connect(options_for(broker.bootstrap), config_of(), handover) as client:
        for number in range(3):
            await client.send(topic, 0, good(f"{number}"))
            with pytest.raises(RequestError) as caught:
                await client.send(topic, 0, batch_of(refused))
            assert caught.value.code == code

    assert values_in(broker.bootstrap, topic, 0) == ["0", "1", "2"]


def _now_ms() -> int:
    import time

    return time.time_ns() // 1_000_000
