"""What an aiokafka has that we do not know is noticed, told, and done without."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import Any

import aiokafka
import pytest
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.producer.sender import Sender
from aiokafka.protocol.produce import ProduceRequest, ProduceRequest_v7, ProduceResponse_v0

from asyncsink_kafka.client import differences, handover
from asyncsink_kafka.client.internals import PrivateHandover
from asyncsink_kafka.client.publicly import PublicHandover
from asyncsink_testing.kafka import MockCluster


@pytest.fixture(autouse=True)
def not_warned_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover, "_warned", False)


def test_the_installed_aiokafka_is_as_we_know_it() -> None:
    found = differences.differences()
    assert found == [], (
        f"aiokafka {aiokafka.__version__} has changed: {'; '.join(found)}. Look at producer/sender.py and "
        "producer/message_accumulator.py of it, then adjust client/internals.py and client/differences.py."
    )


@pytest.mark.parametrize("installed", ["0.13.0", "0.15.0", "1.0"])
def test_another_version_is_said(monkeypatch: pytest.MonkeyPatch, installed: str) -> None:
    monkeypatch.setattr(differences, "version", lambda _: installed)
    assert differences.differences() == [f"version {installed} is not >=0.14,<0.15"]


def test_a_part_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(BatchBuilder, "_build")
    monkeypatch.delattr(Sender, "sender_task")
    assert "BatchBuilder._build is missing" in differences.differences()


def test_a_part_that_is_new_or_takes_something_else_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BatchBuilder, "seal", lambda self: None, raising=False)
    monkeypatch.setattr(BatchBuilder, "_set_producer_state", lambda self, state: None)
    assert differences.differences() == [
        "BatchBuilder.seal is new",
        "BatchBuilder._set_producer_state takes ('state',) and not ('producer_id', 'producer_epoch', 'base_sequence')",
    ]


def test_an_attribute_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ("self._not_there =", "def not_there(")
    monkeypatch.setattr(differences, "_ATTRIBUTES", {"aiokafka.producer.sender.Sender": texts})
    assert differences.differences() == ["Sender has no self._not_there", "Sender has no def not_there"]


def test_a_known_version_is_used_by_its_private_parts() -> None:
    assert isinstance(handover.choose_handover(True), PrivateHandover)


def test_an_unknown_version_is_used_by_its_public_methods_with_one_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(differences, "version", lambda _: "0.15.2")
    with caplog.at_level(logging.WARNING):
        chosen = [handover.choose_handover(True) for _ in range(2)]

    assert [type(each) for each in chosen] == [PublicHandover, PublicHandover]
    (warning,) = caplog.records
    assert warning.message == (
        "aiokafka is not as this version of asyncsink-kafka knows it (version 0.15.2 is not >=0.14,<0.15); batches are "
        "built again record by record, which is slower; install aiokafka>=0.14,<0.15"
    )


@pytest.mark.parametrize("name", differences._NAMES)
def test_a_name_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delattr(name)
    assert differences.differences() == [f"{name} is missing"]


def test_a_module_that_is_missing_is_told_by_what_was_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiokafka.protocol.types", None)
    assert differences.differences() == ["aiokafka.protocol.types.String is missing"]


def test_an_answer_that_does_not_say_for_how_long_to_wait_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProduceRequest_v7, "RESPONSE_TYPE", ProduceResponse_v0)
    assert differences.differences() == ["the answer to ProduceRequest has no throttle_time_ms"]


def test_a_request_of_other_fields_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Newer:
        RESPONSE_TYPE = ProduceRequest_v7.RESPONSE_TYPE

        class SCHEMA:
            names = ("transactional_id", "acks", "topics")

    monkeypatch.setattr(ProduceRequest, "build", lambda self, kind: Newer)
    (told,) = differences.differences()
    assert told.startswith("ProduceRequest has ('transactional_id', 'acks', 'topics') and not ('transactional_id', ")


def test_a_request_that_is_made_otherwise_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(self: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(ProduceRequest, "build", build)
    (told,) = differences.differences()
    assert told.startswith("ProduceRequest is made otherwise: TypeError: ")


CONNECTING = """
import importlib
import sys

import aiokafka
import anyio

for path in ("producer.sender.Sender", "protocol.types.String", "protocol.admin.SaslAuthenticateRequest",
             "protocol.admin.SaslHandShakeRequest", "conn.collect_hosts"):
    module, _, name = path.rpartition(".")
    delattr(importlib.import_module(f"aiokafka.{module}"), name)

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink_kafka.client import connect
from asyncsink_kafka.options import KafkaOptions


async def main():
    async with connect(KafkaOptions(bootstrap_servers=sys.argv[1]), AsyncSinkWriterConfig()) as client:
        number, _ = await client.partitions("t")
        print(type(client._handover).__name__, number)


anyio.run(main)
"""


def test_a_version_without_our_private_names_is_imported_and_connects_the_public_way() -> None:
    with MockCluster(topics={"t": 2}) as cluster:
        ran = subprocess.run(
            [sys.executable, "-c", CONNECTING, cluster.bootstrap],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert ran.stdout == "PublicHandover 2\n", ran.stderr
    assert "aiokafka.producer.sender.Sender is missing; aiokafka.protocol.types.String is missing" in ran.stderr
