"""Records as columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncsink_kafka import records as module
from asyncsink_kafka.record import KafkaRecord
from asyncsink_kafka.records import HEADERS, Records

drawn = settings(deadline=None, max_examples=50)

_contents = st.none() | st.binary(max_size=9)
_headers = st.lists(st.tuples(st.none() | st.text(max_size=3), _contents), max_size=2).map(tuple)
_record = st.builds(
    KafkaRecord,
    value=_contents,
    key=_contents,
    topic=st.none() | st.text(max_size=3),
    headers=_headers,
    partition=st.none() | st.integers(-(1 << 31), (1 << 31) - 1),
    timestamp=st.none() | st.integers(-(1 << 63), (1 << 63) - 1),
)
_runs = st.lists(_record, max_size=12)


def rows(records: Records) -> list[KafkaRecord]:
    return [records.record(place) for place in range(len(records))]


@drawn
@given(_runs)
def test_records_come_back_as_they_were(run: list[KafkaRecord]) -> None:
    assert rows(Records.of(run)) == run


@drawn
@given(_runs, st.data())
def test_take_gives_the_records_at_these_places(run: list[KafkaRecord], data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(run) - 1)) if run else st.just([]))
    taken = Records.of(run, 100).take(places)
    assert rows(taken) == [run[place] for place in places]
    assert taken.sequence.tolist() == [100 + place for place in places]


@drawn
@given(_runs, st.integers(0, 12), st.integers(0, 12))
def test_slice_gives_the_records_between(run: list[KafkaRecord], one: int, other: int) -> None:
    start, stop = sorted((min(one, len(run)), min(other, len(run))))
    part = Records.of(run).slice(start, stop)
    assert rows(part) == run[start:stop]
    assert part.sequence.tolist() == list(range(start, stop))


@drawn
@given(st.lists(_runs, min_size=1, max_size=4))
def test_concat_puts_runs_behind_each_other(runs: list[list[KafkaRecord]]) -> None:
    whole = Records.concat([Records.of(run, 10 * place) for place, run in enumerate(runs)])
    assert rows(whole) == [record for run in runs for record in run]
    assert whole.sequence.tolist() == [10 * place + at for place, run in enumerate(runs) for at in range(len(run))]


@drawn
@given(_runs, st.integers(0, 12))
def test_slices_put_together_are_the_whole(run: list[KafkaRecord], middle: int) -> None:
    records, middle = Records.of(run), min(middle, len(run))
    whole = Records.concat([records.slice(0, middle), records.slice(middle, len(run))])
    assert rows(whole) == run
    assert whole.sequence.tolist() == records.sequence.tolist()


def test_a_null_among_the_headers_is_one_without_name_and_value() -> None:
    headers = pa.array([[{"key": "a", "value": b"1"}, None], None], HEADERS)
    records = Records(value=pa.nulls(2, pa.binary()), headers=headers, sequence=np.arange(2))
    assert [each.headers for each in rows(records)] == [(("a", b"1"), (None, None)), ()]


def test_a_column_that_nobody_has_set_is_none() -> None:
    records = Records.of([KafkaRecord(value=b"a"), KafkaRecord(value=None)])
    assert (records.key, records.headers, records.topic, records.partition, records.timestamp) == (None,) * 5
    assert records.value.type == pa.binary()


def test_sequence_numbers_may_be_given_one_by_one() -> None:
    assert Records.of([KafkaRecord(), KafkaRecord()], [7, 3]).sequence.tolist() == [7, 3]


def test_runs_of_small_and_large_columns_make_a_large_one() -> None:
    small = Records.of([KafkaRecord(value=b"a", key=b"k")])
    large = Records(value=pa.array([b"b"], pa.large_binary()), sequence=np.array([1]))
    whole = Records.concat([small, large])
    assert whole.value.type == pa.large_binary()
    assert rows(whole) == [KafkaRecord(value=b"a", key=b"k"), KafkaRecord(value=b"b")]


def test_runs_that_need_more_than_32_bits_together_make_a_large_column(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Records.of([KafkaRecord(value=b"abcdef")])
    assert Records.concat([run, run]).value.type == pa.binary()
    monkeypatch.setattr(module, "MOST_OFFSET", 15)
    assert Records.concat([run, run]).value.type == pa.large_binary()
    assert Records.of([KafkaRecord(value=b"abcdef" * 4)]).value.type == pa.large_binary()


def test_headers_of_the_other_list_type_are_put_together() -> None:
    kind = pa.large_list(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())]), nullable=False))
    other = Records(
        value=pa.array([b""]), headers=pa.array([[{"key": "a", "value": b"1"}]], kind), sequence=np.array([0])
    )
    run = Records.of([KafkaRecord(value=b"", headers=(("b", None),))])
    assert [record.headers for record in rows(Records.concat([run, other]))] == [(("b", None),), (("a", b"1"),)]
    assert [record.headers for record in rows(Records.concat([other, run]))] == [(("a", b"1"),), (("b", None),)]


def test_topics_are_coded_once_and_anew_for_other_rows() -> None:
    records = Records.of([KafkaRecord(topic=topic) for topic in ("b", None, "a", "b")])
    coded = records.coded_topics
    assert coded is not None
    assert (coded.dictionary.to_pylist(), coded.indices.to_pylist()) == (["b", None, "a"], [0, 1, 2, 0])
    assert records.coded_topics is coded
    for part in (records.slice(2, 4), records.take([2, 3])):
        assert part.coded_topics is not None
        assert part.coded_topics.dictionary.to_pylist() == ["a", "b"]
    assert Records.of([KafkaRecord()]).coded_topics is None


def test_where_there_is_one_topic_a_slice_shares_its_code() -> None:
    records = Records.of([KafkaRecord(topic="a")] * 4)
    coded = records.coded_topics
    assert coded is not None
    part = records.slice(1, 4).slice(1, 3)
    for found, rows_of_it in ((part, 2), (Records.concat([part, records]), 6), (records.slice(2, 2), 0)):
        assert found.coded_topics is not None
        assert found.coded_topics.to_pylist() == ["a"] * rows_of_it
    assert part.coded_topics is not None
    assert part.coded_topics.indices.buffers()[1].address == coded.indices.buffers()[1].address


def test_nbytes_counts_the_rows_of_a_slice_only() -> None:
    records = Records.of([KafkaRecord(value=b"a" * 1000, key=b"k" * 500)] * 10)
    assert 15_000 < records.nbytes < 15_500
    assert 1_500 < records.slice(3, 4).nbytes < 1_600


@pytest.mark.parametrize(
    ("name", "column", "wanted"),
    [
        ("value", pa.array(["text"]), "binary or large_binary"),
        ("value", pa.array([b"a"], pa.binary_view()), "binary or large_binary"),
        ("key", pa.array([1]), "binary or large_binary"),
        ("headers", pa.array([["a"]]), "list<struct<key: string, value: binary>>"),
        ("headers", pa.array([[{"name": "a", "value": b""}]]), "list<struct<key: string, value: binary>>"),
        ("topic", pa.array([b"t"]), "string"),
        ("partition", pa.array([1], pa.int64()), "int32"),
        ("timestamp", pa.array([1], pa.int32()), "int64"),
    ],
)
def test_a_column_of_another_type_is_refused(name: str, column: pa.Array, wanted: str) -> None:
    columns = {"value": pa.array([b"v"]), name: column}
    with pytest.raises(TypeError, match=f"the column {name} of records is .*; it must be {wanted}"):
        Records(sequence=np.array([0]), **columns)


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="the column key of records has 2 rows and value 1"):
        Records(value=pa.array([b"v"]), key=pa.array([b"a", b"b"]), sequence=np.array([0]))
    with pytest.raises(ValueError, match="records have 2 sequence numbers and 1 values"):
        Records(value=pa.array([b"v"]), sequence=np.arange(2))


def test_no_runs_cannot_be_put_together() -> None:
    with pytest.raises(ValueError, match="there are no records to put together"):
        Records.concat([])


def test_a_partition_of_more_than_32_bits_is_refused() -> None:
    with pytest.raises(ValueError, match="too large"):
        Records.of([KafkaRecord(partition=1 << 40)])


def test_runs_that_have_one_topic_for_each_row_are_put_together_with_their_topics() -> None:
    run = Records.of([KafkaRecord(value=b"%d" % number) for number in range(3)])
    joined = Records.concat(
        [run.with_topics(["a", "b"], [0, 1, 0]), run.with_topics(["b"], [0, 0, 0]), run.with_topics(["c"], [0, 0, 0])]
    )
    assert [each.topic for each in rows(joined)] == ["a", "b", "a", "b", "b", "b", "c", "c", "c"]
    coded = joined.coded_topics
    assert coded is not None
    assert joined.topic is not None
    assert coded.to_pylist() == joined.topic.to_pylist()
    assert coded.dictionary.to_pylist() == ["a", "b", "c"]
    mixed = Records.concat([run, run.with_topics(["b"], [0, 0, 0])]).coded_topics
    assert mixed is not None
    assert mixed.to_pylist() == [None, None, None, "b", "b", "b"]
