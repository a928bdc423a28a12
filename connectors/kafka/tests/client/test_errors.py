from __future__ import annotations

import pickle

import pytest
from aiokafka import errors as aiokafka_errors

from asyncsink.failures import FailureKind
from asyncsink_kafka.client import ERRORS, UnknownTopicError
from asyncsink_kafka.client.codes import CLIENT_FAILED, NAMES, NOT_STORED, name_of, name_of_exception
from asyncsink_kafka.client.errors import AGAIN_UNDER_A_NEW_EPOCH
from asyncsink_kafka.security import REFUSAL_CODES

NO_FAILURES = {"NONE", "DUPLICATE_SEQUENCE_NUMBER"}
RENAMED = {
    "UNKNOWN": "UNKNOWN_SERVER_ERROR",
    "NO_ERROR": "NONE",
    "NOT_LEADER_FOR_PARTITION": "NOT_LEADER_OR_FOLLOWER",
    "MESSAGE_SIZE_TOO_LARGE": "MESSAGE_TOO_LARGE",
    "INVALID_TOPIC": "INVALID_TOPIC_EXCEPTION",
    "STALE_LEADER_EPOCH_CODE": "NETWORK_EXCEPTION",
}


@pytest.mark.parametrize("name", sorted({*NAMES.values()} - NO_FAILURES))
def test_every_code_that_has_a_name_has_a_kind(name: str) -> None:
    assert ERRORS.kind_of(name) is not None


@pytest.mark.parametrize("number", sorted(NAMES.keys() & aiokafka_errors.kafka_errors.keys()))
def test_numbers_have_the_names_that_aiokafka_knows(number: int) -> None:
    theirs = aiokafka_errors.kafka_errors[number].message
    assert name_of(number) == RENAMED.get(theirs, theirs)


def test_what_is_fatal_has_a_remedy() -> None:
    assert all(ERRORS.remedy(code).endswith(".") for code in ERRORS.fatal)


def test_refusals_of_who_we_are_are_fatal() -> None:
    assert {ERRORS.kind_of(code) for code in REFUSAL_CODES} == {FailureKind.FATAL}


@pytest.mark.parametrize(
    "code",
    ["MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_RECORD", "INVALID_TIMESTAMP", "INVALID_TOPIC_EXCEPTION"],
)
def test_what_speaks_of_records_rejects_them(code: str) -> None:
    assert ERRORS.kind_of(code) is FailureKind.REJECTED


def test_what_goes_again_under_a_new_epoch_is_fatal_the_second_time_and_was_not_stored() -> None:
    assert {ERRORS.kind_of(code) for code in AGAIN_UNDER_A_NEW_EPOCH} == {FailureKind.FATAL}
    assert AGAIN_UNDER_A_NEW_EPOCH <= NOT_STORED


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (aiokafka_errors.NotLeaderForPartitionError(), "NOT_LEADER_OR_FOLLOWER"),
        (aiokafka_errors.RequestTimedOutError(), "REQUEST_TIMED_OUT"),
        (aiokafka_errors.KafkaConnectionError(), "NETWORK_EXCEPTION"),
        (aiokafka_errors.CorrelationIdError(), "NETWORK_EXCEPTION"),
        (aiokafka_errors.NodeNotReadyError(), "BROKER_NOT_AVAILABLE"),
        (aiokafka_errors.ProducerFenced(), "INVALID_PRODUCER_EPOCH"),
        (aiokafka_errors.SaslAuthenticationFailed(), "SASL_AUTHENTICATION_FAILED"),
        (aiokafka_errors.KafkaError(), CLIENT_FAILED),
        (ConnectionResetError(), "NETWORK_EXCEPTION"),
        (ZeroDivisionError(), CLIENT_FAILED),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_exceptions_of_aiokafka_have_names(error: Exception, name: str) -> None:
    assert name_of_exception(error) == name


def test_an_unknown_topic_crosses_processes() -> None:
    there = pickle.loads(pickle.dumps(UnknownTopicError("no topic 'a'.")))
    assert (there.code, there.message) == ("UNKNOWN_TOPIC_OR_PARTITION", "no topic 'a'.")
