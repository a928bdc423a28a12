"""Users who may not do all that transactions need, on a broker that looks at permissions; and all of it over TLS."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from asyncsink import FatalRequestError, WriterInitContext, run_local
from asyncsink.transactions import Transaction
from asyncsink_kafka import KafkaRecord, KafkaSink
from asyncsink_kafka.transactions.connecting import coordinators_of
from asyncsink_testing.kafka import KafkaBroker, Sasl, Tls
from asyncsink_testing.kafka.skipping import skipped_without_kafka

from .security.certificates import make_certificates
from .transactions.preparing import committed_in, until_none_is_open

pytestmark = [pytest.mark.kafka_service, pytest.mark.timeout(180)]

ANSWER_S = 30.0
PREFIX, OURS, OTHERS = "orders", "ours", "others"
"""What transactional ids begin with, a topic that may be written to, and one that nobody may."""
USERS = ("anna", "describes", "stranger", "reader")
TRANSACTION = Transaction("0123456789abcdef", 1, 0)

ON_IDS = (ResourceType.TRANSACTIONAL_ID, PREFIX, ResourcePatternType.PREFIXED)
ON_OURS = (ResourceType.TOPIC, OURS, ResourcePatternType.LITERAL)
ON_OTHERS = (ResourceType.TOPIC, OTHERS, ResourcePatternType.LITERAL)
PERMISSIONS = {
    "anna": [(ON_IDS, "WRITE"), (ON_IDS, "DESCRIBE"), (ON_OURS, "WRITE"), (ON_OTHERS, "DESCRIBE")],
    "describes": [(ON_IDS, "DESCRIBE"), (ON_OURS, "WRITE")],
    "stranger": [(ON_OURS, "WRITE")],
    "reader": [(ON_IDS, "WRITE"), (ON_IDS, "DESCRIBE"), (ON_OURS, "READ")],
}

ANY: Any = None
ANYTHING = AclBindingFilter(
    ResourceType.ANY, ANY, ResourcePatternType.ANY, ANY, ANY, AclOperation.ANY, AclPermissionType.ANY
)


class Guarded:
    """A broker with users, which is spoken to by SASL over TLS."""

    def __init__(self, broker: KafkaBroker, authority: Path) -> None:
        self.broker, self._authority = broker, authority

    def sink(self, user: str, **options: Any) -> KafkaSink:
        return KafkaSink(
            bootstrap_servers=self.broker.bootstrap_of("SASL_SSL"),
            security_protocol="SASL_SSL",
            sasl_mechanism="PLAIN",
            sasl_username=user,
            sasl_password=f"{user}-pw",
            ssl_truststore_location=str(self._authority),
            delivery_guarantee="exactly-once",
            transactional_id_prefix=PREFIX,
            **options,
        )

    def permit(self) -> None:
        """Return when the broker knows of the permissions of all users."""
        bindings = [
            AclBinding(kind, name, pattern, f"User:{user}", "*", AclOperation[operation], AclPermissionType.ALLOW)
            for user, permissions in PERMISSIONS.items()
            for (kind, name, pattern), operation in permissions
        ]
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap, "log_level": 0})
        for each in admin.create_acls(bindings, request_timeout=ANSWER_S).values():
            each.result(ANSWER_S)
        while len(admin.describe_acls(ANYTHING, request_timeout=ANSWER_S).result(ANSWER_S)) < len(bindings):
            pass


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    certificates = make_certificates(tmp_path_factory.mktemp("certificates"))
    broker = KafkaBroker(
        listeners=("SASL_SSL",),
        tls=Tls(certificate=certificates.broker, private_key=certificates.broker_key),
        sasl=Sasl(users={user: f"{user}-pw" for user in USERS}),
        properties={
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        },
    )
    with skipped_without_kafka(), broker:
        found = Guarded(broker, certificates.authority)
        found.permit()
        for topic in (OURS, OTHERS):
            broker.create_topic(topic, 1)
        yield found


def run(sink: KafkaSink, values: list[Any], state: Path) -> None:
    anyio.run(partial(run_local, sink, values, state))


def test_two_permissions_on_the_prefix_and_one_on_the_topic_are_enough_over_tls_all_the_way(
    guarded: Guarded, tmp_path: Path
) -> None:
    run(guarded.sink("anna", topic=OURS), ["1", "2"], tmp_path)
    assert committed_in(guarded.broker.bootstrap, OURS, 1, least=2) == ["1", "2"]


@pytest.mark.parametrize(
    ("user", "topic", "told"),
    [
        ("stranger", OURS, r"the transactional id 'orders-permissions'\. Allow the user Write and Describe on"),
        ("describes", OURS, r"the transactional id 'orders-permissions'\. Allow the user Write and Describe on"),
        ("reader", OURS, r"TOPIC_AUTHORIZATION_FAILED: the topic 'ours'\. Allow the user Write and Describe"),
        ("anna", OTHERS, r"TOPIC_AUTHORIZATION_FAILED: the topic 'others'\. Allow the user Write and Describe"),
    ],
)
def test_a_permission_that_is_missing_is_told_before_a_row_is_written(
    guarded: Guarded, tmp_path: Path, user: str, topic: str, told: str
) -> None:
    with pytest.raises(FatalRequestError, match=told):
        run(guarded.sink(user, topic=topic), ["1"], tmp_path)
    assert not list(tmp_path.rglob("begin-*"))


def test_so_are_those_on_the_ids_where_the_rows_name_their_topics(guarded: Guarded, tmp_path: Path) -> None:
    with pytest.raises(
        FatalRequestError, match="Allow the user Write and Describe on the transactional ids that begin with"
    ):
        run(guarded.sink("describes"), [KafkaRecord(value=b"1", topic=OURS)], tmp_path)


def test_a_row_that_names_a_topic_without_permission_fails_the_task_with_its_name(guarded: Guarded) -> None:
    """Whichever record is the first to fail: those of other topics are not in the transaction any more either."""

    async def write() -> None:
        sink = guarded.sink("anna")
        async with sink.create_writer(WriterInitContext(transaction=TRANSACTION)) as writer:
            for topic in (OURS, OTHERS, OURS):
                await writer.write(KafkaRecord(value=b"x", topic=topic))
            await writer.prepare_commit(flush=True)

    with pytest.raises(FatalRequestError, match=r"TOPIC_AUTHORIZATION_FAILED: the topic 'others'\. Allow the user Wri"):
        anyio.run(write)
    anyio.run(until_all_have_ended, guarded.sink("anna"))


async def until_all_have_ended(sink: KafkaSink) -> None:
    async with coordinators_of(sink.options, sink.config) as coordinators:
        await until_none_is_open(coordinators, PREFIX)
