"""Where records go, and how: brokers, topics, partitions, acknowledgements, compression."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from asyncsink.errors import ConfigurationError
from asyncsink.options import ConnectorOptions, option
from asyncsink_kafka.options.compression import LEVELS, broken_rule
from asyncsink_kafka.options.partitioner_names import checked_partitioner
from asyncsink_kafka.options.topic_names import is_topic_name
from asyncsink_kafka.transactions.naming import DEFAULT_PREFIX

# Java's clients allow the name of a listener before the host.
_BROKER = re.compile(r"(?:[A-Za-z0-9_]+://)?(?P<host>\[[0-9a-fA-F:.%]+\]|[^\s:/@,\[\]]+)(?::(?P<port>\d{1,5}))?")
_PREFIX = re.compile(r"[A-Za-z0-9._-]{1,200}")
_LONGEST_TIMEOUT_S = (2**31 - 1) / 1000


@dataclass(frozen=True, kw_only=True)
class DestinationOptions(ConnectorOptions):
    """Brokers, topics and what is asked of them."""

    bootstrap_servers: str = option(
        doc="Brokers to begin with, as host:port, separated by commas; the others are found by them.",
        aliases=["kafka.bootstrap.servers", "properties.bootstrap.servers"],
    )
    topic: str | None = option(
        None, doc="The topic of every row, even of one whose column topic names another; without it the column decides."
    )
    topics: str | None = option(
        None, doc="Topics that rows may name, separated by commas; a row for another one is rejected."
    )
    topic_pattern: str | None = option(
        None, doc="Regular expression for the whole name of topics that rows may name; any other row is rejected."
    )
    include_headers: bool | None = option(
        None, doc="Whether the column headers is sent. By default it is, where there is one."
    )
    partitioner: str = option(
        "murmur2",
        doc="Partition of a row that names none: murmur2 by its key as Java does, and sticky without one; sticky fills "
        "a batch before it turns to the next partition; round-robin takes one row after the other; fixed gives each "
        "task one partition; or a Partitioner of your own as package.module:Class.",
        aliases=["sink.partitioner"],
    )
    acks: Literal["all", "1", "0"] = option(
        "all",
        doc="How many brokers must have a record before it counts as stored: all that are in sync, also written -1; 1, "
        "the leader; 0, none.",
    )
    enable_idempotence: bool | None = option(
        None,
        doc="Whether brokers leave out what a repeated request would store twice. By default they do with acks=all.",
    )
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = option("none", doc="Compression of record batches.")
    compression_level: int | None = option(
        None, doc="Level of gzip, lz4 or zstd: more for smaller batches, less for speed. By default the codec's own."
    )
    batch_size_in_bytes: int = option(
        900_000,
        doc="Bytes at which a record batch of one partition is full, before compression; a larger record has a batch "
        "of its own. Kafka's batch.size.",
        unit="bytes",
    )
    delivery_guarantee: Literal["at-least-once", "exactly-once", "none"] = option(
        "at-least-once",
        doc="at-least-once fails the task while a row is not stored; exactly-once shows the rows of a batch all at "
        "once, by transactions, to consumers with isolation.level=read_committed; none lets acks=0 lose rows.",
        aliases=["sink.delivery-guarantee"],
    )
    transactional_id_prefix: str | None = option(
        None,
        doc="What the transactional ids of the query begin with, for permissions by prefix; with exactly-once. By "
        "default asyncsink. A random id of the query's checkpoint follows it.",
        aliases=["sink.transactional-id-prefix"],
    )
    transaction_timeout_s: float | None = option(
        None,
        doc="Time after which brokers abort a transaction: a batch, and a restart of the query in the midst of a "
        "commit, must take less. By default transaction.max.timeout.ms of the brokers, 15 min where nobody has set it.",
        unit="s",
    )
    client_id: str | None = option(None, doc="Name of this client in the logs and quotas of the brokers.")
    max_block_s: float = option(
        60.0, doc="Time for learning the partitions of a topic, after which its rows are rejected.", unit="s"
    )
    metadata_max_age_s: float = option(
        300.0, doc="Time after which partitions and leaders are asked for again though nothing has failed.", unit="s"
    )
    connections_max_idle_s: float = option(
        540.0, doc="Time after which a connection without requests is closed; inf for never.", unit="s"
    )

    def __post_init__(self) -> None:
        self.check_brokers()
        self._check_topics()
        object.__setattr__(self, "partitioner", checked_partitioner(self.partitioner))
        self._check_guarantee()
        self._check_compression()
        self._check_sizes()

    def check_brokers(self) -> None:
        """Bring the brokers into one form.

        :raises ConfigurationError: there is none, or one is not of the form host:port
        """
        object.__setattr__(self, "bootstrap_servers", _brokers(self.bootstrap_servers))

    @property
    def idempotent(self) -> bool:
        """Whether the producer is: as asked, else as Java does it, wherever acks allow."""
        return self.acks == "all" if self.enable_idempotence is None else self.enable_idempotence

    @property
    def is_transactional(self) -> bool:
        """Whether rows are shown by a commit."""
        return self.delivery_guarantee == "exactly-once"

    @property
    def transaction_prefix(self) -> str:
        """What transactional ids begin with; a dash and the sink's id follow it."""
        return self.transactional_id_prefix or DEFAULT_PREFIX

    @property
    def transaction_timeout_ms(self) -> int | None:
        """In Kafka's unit; None for the brokers' maximum."""
        return None if self.transaction_timeout_s is None else round(self.transaction_timeout_s * 1000)

    @property
    def allowed(self) -> Callable[[str], bool] | None:
        """Whether rows may name a topic; None where they may name every one."""
        if self.topics is None and self.topic_pattern is None:
            return None
        return self._allows

    @cached_property
    def _allow_list(self) -> frozenset[str]:
        return frozenset(_split(self.topics or ""))

    def _allows(self, topic: str) -> bool:
        if topic in self._allow_list:
            return True
        return self.topic_pattern is not None and re.fullmatch(self.topic_pattern, topic) is not None

    def _check_topics(self) -> None:
        if self.topic is not None:
            check_topic("topic", self.topic)
        if self.topics is not None:
            names = _split(self.topics)
            if not names:
                raise ConfigurationError(
                    "option 'topics' = '' names no topic; leave it out, or write topics=orders,events"
                )
            for name in names:
                check_topic("topics", name)
        if self.topic_pattern is not None:
            try:
                re.compile(self.topic_pattern)
            except re.error as error:
                raise ConfigurationError(
                    f"option 'topicPattern' = {self.topic_pattern!r} is no regular expression: {error}; write for "
                    r"example orders\..*"
                ) from None
        if self.topic is not None and self.allowed is not None and not self._allows(self.topic):
            raise ConfigurationError(
                f"option 'topic' = {self.topic!r} is not among the topics that 'topics' and 'topicPattern' allow; add "
                "it there, or leave these two out"
            )

    def _check_guarantee(self) -> None:
        if self.acks == "0" and self.delivery_guarantee == "at-least-once":
            raise ConfigurationError(
                "option 'acks' = '0' tells nobody whether a row is stored, which 'deliveryGuarantee' = 'at-least-once' "
                "needs to know; leave acks out, or set deliveryGuarantee=none"
            )
        if self.is_transactional and (self.acks != "all" or self.enable_idempotence is False):
            given = "'enableIdempotence' = false" if self.acks == "all" else f"'acks' = {self.acks!r}"
            raise ConfigurationError(
                f"option 'deliveryGuarantee' = 'exactly-once' needs acks=all and idempotence, and {given}; leave one "
                "of them out"
            )
        if not self.is_transactional:
            self._check_no_transactions()
        if self.transactional_id_prefix is not None and not _PREFIX.fullmatch(self.transactional_id_prefix):
            raise ConfigurationError(
                f"option 'transactionalIdPrefix' = {self.transactional_id_prefix!r} must be 1 to 200 letters, digits "
                "and . _ -; give for example orders"
            )
        if self.enable_idempotence and self.acks != "all":
            raise ConfigurationError(
                f"option 'enableIdempotence' = true needs 'acks' = 'all', and it is {self.acks!r}; leave one of them "
                "out"
            )

    def _check_no_transactions(self) -> None:
        given = {
            "transactionalIdPrefix": self.transactional_id_prefix,
            "transactionTimeout": self.transaction_timeout_s,
        }
        for name, value in given.items():
            if value is not None:
                raise ConfigurationError(
                    f"option {name!r} = {value!r} is of transactions, and 'deliveryGuarantee' = "
                    f"{self.delivery_guarantee!r} makes none; set deliveryGuarantee=exactly-once, or leave it out"
                )

    def _check_compression(self) -> None:
        codec, level = self.compression, self.compression_level
        if level is None:
            return
        if codec not in LEVELS:
            raise ConfigurationError(
                f"option 'compressionLevel' = {level} is of gzip, lz4 and zstd, and 'compression' = {codec!r}; leave "
                "it out, or choose one of these"
            )
        if (rule := broken_rule(codec, level)) is not None:
            raise ConfigurationError(
                f"option 'compressionLevel' = {level} must be {rule} with 'compression' = {codec!r}, or left out"
            )

    def _check_sizes(self) -> None:
        if (self.transaction_timeout_s or 0) > _LONGEST_TIMEOUT_S:
            raise ConfigurationError(
                f"option 'transactionTimeout' = {self.transaction_timeout_s} must be at most {_LONGEST_TIMEOUT_S} "
                "seconds, which is all that Kafka's protocol can tell; leave it out for the brokers' own maximum"
            )
        for name, value, example in (
            ("batchSizeInBytes", self.batch_size_in_bytes, "900000"),
            ("maxBlock", self.max_block_s, "60s"),
            ("metadataMaxAge", self.metadata_max_age_s, "5min"),
            ("connectionsMaxIdle", self.connections_max_idle_s, "9min"),
            ("transactionTimeout", self.transaction_timeout_s, "15min"),
        ):
            if value is not None and value <= 0:
                raise ConfigurationError(
                    f"option {name!r} = {value} must be larger than 0; give for example {name}={example}"
                )


def check_topic(option_name: str, name: str) -> None:
    """:raises ConfigurationError: no topic can have that name"""
    if is_topic_name(name):
        return
    several = "; for several topics write topics=a,b and a column topic" if re.search("[,;]", name) else ""
    raise ConfigurationError(
        f"option {option_name!r} names the topic {name!r}; a topic has 1 to 249 of the characters a-z, A-Z, 0-9, '.', "
        f"'_' and '-'{several}"
    )


def _split(text: str) -> list[str]:
    return [part for each in text.split(",") if (part := each.strip())]


def _brokers(text: str) -> str:
    """The brokers as host:port, without blanks and names of listeners."""
    found = []
    for each in _split(text):
        match = _BROKER.fullmatch(each)
        if match is None or not 0 < int(match["port"] or 9092) < 65536:
            # What stands before an @ may be a password.
            raise ConfigurationError(
                f"option 'bootstrapServers' names the broker {each.rpartition('@')[2]!r}; write host:port, as in "
                "broker1:9092,broker2:9092"
            )
        found.append(f"{match['host']}:{match['port'] or 9092}")
    if not found:
        raise ConfigurationError("option 'bootstrapServers' names no broker; write host:port, as in broker1:9092")
    return ",".join(found)
