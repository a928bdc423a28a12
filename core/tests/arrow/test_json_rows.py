"""JSON of whole Arrow batches: that it is the JSON of their rows, and what only Arrow's types can tell."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal

import pyarrow as pa
import pytest

from asyncsink.arrow.json_rows import json_column, payload_column, rows_as_json
from asyncsink.json_text import encode_row

MOMENT = datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)
LOCAL = datetime(2020, 1, 2, 3, 4, 5)
COLUMNS = {
    "string": pa.array(["a", None, 'q"\\\n\x01é', ""]),
    "large": pa.array(["a", None, "\t", "b"], pa.large_string()),
    "coded": pa.array(["a", None, "b", "a"]).dictionary_encode(),
    "bigint": pa.array([1, None, -3, 2**62]),
    "byte": pa.array([1, None, -3, 0], pa.int8()),
    "boolean": pa.array([True, None, False, True]),
    "double": pa.array([1.0, None, float("nan"), 1e300]),
    "float": pa.array([0.5, float("inf"), None, -0.0], pa.float32()),
    "decimal": pa.array([Decimal("1.10"), None, Decimal("-0.01"), Decimal("0.00")], pa.decimal128(10, 2)),
    "timestamp": pa.array([MOMENT, None, MOMENT.replace(microsecond=7), MOMENT], pa.timestamp("us", "Europe/Berlin")),
    "ntz": pa.array([LOCAL, None, LOCAL.replace(microsecond=120000), datetime(1, 1, 1)], pa.timestamp("us")),
    "date": pa.array([date(2020, 1, 2), None, date(1, 1, 1), date(9999, 12, 31)]),
    "time": pa.array([time(1, 2, 3), None, time(1, 2, 3, 4), time(0)], pa.time64("us")),
    "binary": pa.array([b"abc", None, b"", b"\xff"]),
    "struct": pa.array([{"x": 1, "y": None}, None, {"x": None, "y": "z"}, {"x": None, "y": None}]),
    "array": pa.array([[1, None], None, [], [3]]),
    "strings": pa.array([["a", None], None, [], ["b\n"]]),
    "pair": pa.array([[1, 2], None, [3, None], [5, 6]], pa.list_(pa.int32(), 2)),
    "map": pa.array([[("a", 1), ("b", None)], None, [("c", 0)], [("d", 3)]], pa.map_(pa.string(), pa.int32())),
    "numbered": pa.array([[(1, "x")], None, [(2, None)], [(3, "y")]], pa.map_(pa.int32(), pa.string())),
    "dated": pa.array([[(date(2020, 1, 2), 1)], None, [], []], pa.map_(pa.date32(), pa.int32())).fill_null([]),
    "deep": pa.array([[{"k": [{"z": 1}]}], [], None, [{"k": None}]]),
    "void": pa.nulls(4),
}
MAPS = {"map", "numbered", "dated"}
"""Whose Python values do not tell that they are maps."""
BATCH = pa.RecordBatch.from_pydict({name: column for name, column in COLUMNS.items() if name not in MAPS})


@pytest.mark.parametrize("batch", [BATCH, BATCH.slice(1, 2), BATCH.slice(3), BATCH.slice(0, 0)])
def test_a_batch_gives_the_json_of_its_rows(batch: pa.RecordBatch) -> None:
    found = rows_as_json(batch)
    assert found == [encode_row(row) for row in batch.to_pylist()]
    assert json_column(batch).equals(pa.array(found, pa.large_binary()))
    assert all(b"\n" not in line for line in found)
    for line in found:
        json.loads(line)


@pytest.mark.parametrize("name", sorted({*COLUMNS} - MAPS))
def test_a_column_alone_gives_the_json_of_its_rows(name: str) -> None:
    batch = pa.RecordBatch.from_pydict({name: COLUMNS[name]})
    found = [json.loads(line) for line in rows_as_json(batch)]
    assert len(found) == 4
    assert found == [json.loads(encode_row(row)) for row in batch.to_pylist()]


def test_maps_are_objects_that_keep_their_nulls() -> None:
    batch = pa.RecordBatch.from_pydict({name: COLUMNS[name] for name in sorted(MAPS)})
    expected = [
        b'{"dated":{"2020-01-02":1},"map":{"a":1,"b":null},"numbered":{"1":"x"}}',
        b'{"dated":{}}',
        b'{"dated":{},"map":{"c":0},"numbered":{"2":null}}',
        b'{"dated":{},"map":{"d":3},"numbered":{"3":"y"}}',
    ]
    assert rows_as_json(batch) == expected
    assert [rows_as_json(batch.slice(row, 1)) for row in range(4)] == [[line] for line in expected]


def test_strings_that_are_no_utf_8_are_repaired_as_spark_does() -> None:
    broken = pa.array([b"a", b"\xff", None, b'\xe2\x82z"', b"\xf0\x9f\x98\x80"])
    text = pa.Array.from_buffers(pa.string(), 5, broken.buffers())
    names = ["plain", "nested", "map"]
    nested = pa.StructArray.from_arrays([text], names=["s"])
    mapped = pa.MapArray.from_arrays(pa.array([0, 1, 2, 2, 2, 2], pa.int32()), text.take([0, 1]), pa.array([1, 2]))
    lines = rows_as_json(pa.RecordBatch.from_arrays([text, nested, mapped], names))
    assert [json.loads(line).get("plain") for line in lines] == ["a", "\ufffd", None, '\ufffdz"', "\U0001f600"]
    assert json.loads(lines[1]) == {"plain": "\ufffd", "nested": {"s": "\ufffd"}, "map": {"\ufffd": 2}}
    valid = text.take([0, 1, 3])
    batch = pa.RecordBatch.from_arrays([valid], ["body"])
    assert payload_column(batch, "body").to_pylist() == [b"a", "\ufffd".encode(), '\ufffdz"'.encode()]
    raw = pa.RecordBatch.from_arrays([pa.array([b"\xff"])], ["body"])
    assert payload_column(raw, "body").to_pylist() == [b"\xff"], "binary stays as it is"


FAR = {
    "instant": (
        pa.array([253402300800000000, -62135596800000001, 2**63 - 1, -(2**63) + 1], pa.timestamp("us", "UTC")),
        [
            "+10000-01-01T00:00:00.000Z",
            "0000-12-31T23:59:59.999999Z",
            "+294247-01-10T04:00:54.775807Z",
            "-290308-12-21T19:59:05.224193Z",
        ],
    ),
    "local": (
        pa.array([2**40, 0, -(2**40), None], pa.timestamp("s")),
        ["+36812-02-20T00:36:16.000", "1970-01-01T00:00:00.000", "-32873-11-12T23:23:44.000", None],
    ),
    "fine": (
        pa.array([1, 1000, 10**9, None], pa.timestamp("ns")),
        ["1970-01-01T00:00:00.000000001", "1970-01-01T00:00:00.000001", "1970-01-01T00:00:01.000", None],
    ),
    "date": (
        pa.array([2932897, -719529, 2**31 - 1, 18321], pa.int32()).cast(pa.date32()),
        ["+10000-01-01", "-0001-12-31", "+5881580-07-11", "2020-02-29"],
    ),
}


@pytest.mark.parametrize("name", FAR)
def test_dates_that_neither_arrow_nor_python_can_write_are_written(name: str) -> None:
    column, expected = FAR[name]
    lines = rows_as_json(pa.RecordBatch.from_pydict({"a": column}))
    assert [json.loads(line).get("a") for line in lines] == expected


def test_a_value_that_is_none_of_its_type_is_refused_by_column_and_row() -> None:
    times = pa.array([0, 86_400_000_000], pa.int64()).view(pa.time64("us"))
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), times)
    for column in (times, lists):
        batch = pa.RecordBatch.from_pydict({"id": [1, 2], "at": column})
        with pytest.raises(ValueError, match="column 'at' of row 1 of 2: the value is no time of day"):
            rows_as_json(batch)


def test_decimals_have_all_their_digits_and_no_exponent() -> None:
    tiny = pa.array([Decimal("1E-10"), Decimal("0E-10"), None], pa.decimal128(38, 10))
    lines = rows_as_json(pa.RecordBatch.from_pydict({"a": tiny}))
    assert lines == [b'{"a":0.0000000001}', b'{"a":0.0000000000}', b"{}"]


def test_arrows_types_tell_what_python_values_cannot() -> None:
    batch = pa.RecordBatch.from_pydict(
        {
            "empty": pa.array([[]], pa.map_(pa.string(), pa.int32())),
            "dated": pa.array([[(date(2020, 1, 2), 1)]], pa.map_(pa.date32(), pa.int32())),
            "tenth": pa.array([0.1], pa.float32()),
            "week": pa.array([datetime(2020, 1, 2)], pa.timestamp("s")),
        }
    )
    (line,) = rows_as_json(batch)
    assert line == b'{"empty":{},"dated":{"2020-01-02":1},"tenth":0.1,"week":"2020-01-02T00:00:00.000"}'


def test_rows_without_any_value_are_empty_objects() -> None:
    batch = pa.RecordBatch.from_pydict({"a": pa.array([None, 1]), "b": pa.nulls(2)})
    assert rows_as_json(batch) == [b"{}", b'{"a":1}']
    nothing = pa.RecordBatch.from_pydict({"b": pa.nulls(2)})
    assert rows_as_json(nothing) == [b"{}", b"{}"]


def test_names_are_written_as_json() -> None:
    batch = pa.RecordBatch.from_pydict({'na"me é': pa.array([1])})
    assert rows_as_json(batch) == ['{"na\\"me é":1}'.encode()]


def test_a_type_without_a_form_in_json_is_refused() -> None:
    batch = pa.RecordBatch.from_pydict({"a": pa.array([1], pa.duration("s"))})
    with pytest.raises(TypeError, match=r"a column of type duration\[s\] has no form in JSON; cast it to a string"):
        rows_as_json(batch)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.binary(3)])
def test_payloads_are_the_values_of_a_column_as_they_are(kind: pa.DataType) -> None:
    batch = pa.RecordBatch.from_pydict({"id": [1, 2, 3], "data": pa.array([b'"a\n', None, b"abc"], kind)})
    assert payload_column(batch, "data").to_pylist() == [b'"a\n', None, b"abc"]


def test_payloads_of_a_slice_and_of_coded_strings_are_their_own() -> None:
    coded = pa.array(["a", None, "b", "a"]).dictionary_encode()
    assert payload_column(pa.RecordBatch.from_pydict({"data": coded}).slice(1, 2), "data").to_pylist() == [None, b"b"]
