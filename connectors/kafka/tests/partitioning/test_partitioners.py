"""Which partition each partitioner chooses."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from asyncsink import ConfigurationError
from asyncsink_kafka.options.partitioner_names import checked_partitioner
from asyncsink_kafka.partitioning import make_partitioner, murmur2_many
from asyncsink_kafka.partitioning.standard import Fixed, Murmur2, RoundRobin, Sticky
from asyncsink_kafka.record import KafkaRecord
from asyncsink_kafka.records import Records

ALL = range(12)


def keyless(count: int, size: int = 90) -> Records:
    """Records of `size` + 10 bytes."""
    return Records.of([KafkaRecord(value=bytes(size))] * count)


def keyed(*keys: bytes | None) -> Records:
    return Records.of([KafkaRecord(key=key, value=b"v") for key in keys])


def runs(partitions: list[int]) -> list[tuple[int, int]]:
    """Each run of one partition and its length."""
    starts = [index for index, each in enumerate(partitions) if index == 0 or partitions[index - 1] != each]
    ends = [*starts[1:], len(partitions)]
    return [(partitions[start], end - start) for start, end in zip(starts, ends, strict=True)]


def test_a_keyed_record_goes_by_its_hash_even_if_that_partition_has_no_leader() -> None:
    chosen = Murmur2(1000).partition_many("t", keyed(b"a", b"order-17", b"", b"a"), 1000, [5])
    expected = (murmur2_many(pa.array([b"a", b"order-17", b"", b"a"])) & np.uint32(0x7FFFFFFF)) % 1000
    assert chosen.tolist() == expected.tolist()
    assert chosen.tolist()[2] == 681  # Java's, of no bytes


def test_records_without_a_key_stay_together_between_keyed_ones() -> None:
    chosen = Murmur2(10_000).partition_many("t", keyed(b"a", None, b"b", None, None), 1000, range(1000)).tolist()
    alone = Murmur2(10_000).partition_many("t", keyed(b"a", b"b"), 1000, range(1000)).tolist()
    assert [chosen[0], chosen[2]] == alone
    assert len({chosen[1], chosen[3], chosen[4]}) == 1


def test_sticky_takes_another_partition_when_a_batch_has_gone_to_one() -> None:
    sticky = Sticky(1000, Random(1))
    chosen = sticky.partition_many("t", keyless(95), 12, ALL).tolist()
    lengths = [length for _, length in runs(chosen)]
    assert lengths == [10] * 9 + [5]
    # The next run of rows fills up what the last one began.
    following = sticky.partition_many("t", keyless(6), 12, ALL).tolist()
    assert following[:5] == chosen[-1:] * 5
    assert following[5] != chosen[-1]


def test_sticky_does_not_depend_on_how_rows_are_cut() -> None:
    whole = Sticky(750, Random(3)).partition_many("t", keyless(60), 12, ALL).tolist()
    pieces = Sticky(750, Random(3))
    assert [each for _ in range(20) for each in pieces.partition_many("t", keyless(3), 12, ALL).tolist()] == whole


def test_sticky_counts_key_and_headers() -> None:
    record = KafkaRecord(key=bytes(50), value=bytes(40), headers=(("h" * 100, bytes(300)),))
    chosen = Sticky(1500, Random(1)).partition_many("t", Records.of([record] * 30), 12, ALL).tolist()
    assert {length for _, length in runs(chosen)} == {3}


def test_sticky_keeps_to_partitions_with_a_leader_and_comes_to_all_of_them() -> None:
    chosen = Sticky(100, Random(1)).partition_many("t", keyless(3000), 12, [1, 4, 7])
    counts = Counter(chosen.tolist())
    assert {*counts} == {1, 4, 7}
    assert min(counts.values()) > 900


def test_sticky_leaves_a_partition_that_has_lost_its_leader() -> None:
    sticky = Sticky(10**6)
    first = sticky.partition_many("t", keyless(3), 2, [0, 1]).tolist()[0]
    assert sticky.partition_many("t", keyless(3), 2, [1 - first]).tolist() == [1 - first] * 3


def test_without_any_leader_known_sticky_takes_any_partition() -> None:
    assert {*Sticky(100, Random(1)).partition_many("t", keyless(200), 3, []).tolist()} == {0, 1, 2}


def test_topics_have_a_sticky_partition_each() -> None:
    sticky = Sticky(10**6, Random(1))
    first = {topic: sticky.partition_many(topic, keyless(1), 1000, range(1000)).item() for topic in "abcdef"}
    assert len({*first.values()}) > 3
    assert {topic: sticky.partition_many(topic, keyless(1), 1000, range(1000)).item() for topic in first} == first


def test_a_batch_size_of_nothing_still_ends() -> None:
    assert {
        length for _, length in runs(Sticky(0, Random(1)).partition_many("t", keyless(9), 3, [0, 1, 2]).tolist())
    } == {1}


def test_round_robin_goes_on_where_it_stopped_and_leaves_out_partitions_without_leader() -> None:
    round_robin = RoundRobin(Random(1))
    chosen = [*round_robin.partition_many("t", keyless(4), 12, [2, 5, 9])]
    chosen += [*round_robin.partition_many("t", keyless(5), 12, [2, 5, 9])]
    at = [2, 5, 9].index(chosen[0])
    assert chosen == [[2, 5, 9][(at + index) % 3] for index in range(9)]


def test_round_robin_ignores_keys_and_takes_all_partitions_if_none_is_available() -> None:
    assert {*RoundRobin().partition_many("t", keyed(b"a", b"a", b"a"), 3, []).tolist()} == {0, 1, 2}


def test_writers_do_not_all_begin_with_the_first_partition() -> None:
    assert len({RoundRobin().partition_many("t", keyless(1), 12, ALL).item() for _ in range(100)}) > 3


def test_fixed_sends_a_writers_rows_to_one_partition() -> None:
    chosen = {}
    for writer_id in range(5):
        fixed = Fixed()
        fixed.open(writer_id, 5)
        chosen[writer_id] = {*fixed.partition_many("t", keyed(b"a", b"b", None), 3, [0]).tolist()}
    assert chosen == {0: {0}, 1: {1}, 2: {2}, 3: {0}, 4: {1}}


def test_large_columns_are_counted_as_well() -> None:
    records = Records(value=pa.array([bytes(90)] * 20, pa.large_binary()), sequence=np.arange(20))
    assert {length for _, length in runs(Murmur2(500).partition_many("t", records, 12, ALL).tolist())} == {5}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("murmur2", Murmur2),
        (" Murmur2 ", Murmur2),
        ("default", Murmur2),
        ("org.apache.kafka.clients.producer.internals.DefaultPartitioner", Murmur2),
        ("sticky", Sticky),
        ("org.apache.kafka.clients.producer.UniformStickyPartitioner", Sticky),
        ("round-robin", RoundRobin),
        ("roundRobin", RoundRobin),
        ("org.apache.kafka.clients.producer.RoundRobinPartitioner", RoundRobin),
        ("fixed", Fixed),
        ("org.apache.flink.streaming.connectors.kafka.partitioner.FlinkFixedPartitioner", Fixed),
    ],
)
def test_the_standard_partitioners_have_their_names(text: str, kind: type) -> None:
    assert type(make_partitioner(text, batch_size_in_bytes=1)) is kind


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("murmur", r"'partitioner' = 'murmur' must be 'murmur2', .* did you mean 'murmur2'\?"),
        ("", "must be 'murmur2'"),
        ("a b:c", "must be 'murmur2'"),
        ("com.acme.MyPartitioner", r"Java class, which cannot run here; write it in Python.*'package.module:Class'$"),
        ("com.acme.RoundRobinPartitioner", "Java class.*did you mean 'round-robin'"),
    ],
)
def test_other_names_are_refused_with_the_remedy(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make_partitioner(text, batch_size_in_bytes=1)


def test_an_import_path_is_not_loaded_to_be_checked() -> None:
    assert checked_partitioner("nowhere.at_all:Class") == "nowhere.at_all:Class"
