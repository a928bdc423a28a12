from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink.arrow import ArrowBlock, normalise

WORDS = pa.array(["a", "bb", None, "a"]).dictionary_encode()
VIEWS = pa.array(["a", None, "a string that is too long to be inlined", ""], pa.string_view())


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (WORDS, pa.string()),
        (VIEWS, pa.string()),
        (pa.array([b"x", None], pa.binary_view()), pa.binary()),
        (
            pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), pa.array(["x"], pa.large_string())),
            pa.large_string(),
        ),
        (pa.array(["x"], pa.large_string()), pa.large_string()),
        (pa.ListArray.from_arrays([0, 2, 4], WORDS), pa.list_(pa.string())),
        (pa.LargeListArray.from_arrays([0, 2, 4], VIEWS), pa.large_list(pa.string())),
        (pa.FixedSizeListArray.from_arrays(WORDS, 2), pa.list_(pa.string(), 2)),
        (pa.StructArray.from_arrays([WORDS, VIEWS], ["w", "v"]), pa.struct({"w": pa.string(), "v": pa.string()})),
        (pa.MapArray.from_arrays([0, 1, 2], pa.array(["k", "l"], pa.string_view()), WORDS[:2]), pa.map_("str", "str")),
    ],
    ids=lambda each: str(each.type) if isinstance(each, pa.Array) else "",
)
def test_views_and_dictionaries_become_plain_and_values_stay(column: pa.Array, expected: pa.DataType) -> None:
    batch = pa.record_batch([column, pa.array(range(len(column)))], ["c", "n"]).slice(1)
    plain = normalise(batch)
    assert plain.schema.types == [expected, pa.int64()]
    assert plain.to_pylist() == batch.to_pylist()


def test_a_plain_batch_is_returned_as_it_is() -> None:
    batch = pa.record_batch([pa.array(["a"]), pa.array([b"b"], pa.large_binary())], ["a", "b"])
    assert normalise(batch) is batch


def test_nullability_and_metadata_survive() -> None:
    schema = pa.schema([pa.field("c", WORDS.type, nullable=False, metadata={"k": "v"})], metadata={"m": "w"})
    plain = normalise(pa.RecordBatch.from_arrays([WORDS.drop_null()], schema=schema)).schema
    assert plain.field("c").equals(pa.field("c", pa.string(), nullable=False), check_metadata=False)
    assert (plain.field("c").metadata, plain.metadata) == ({b"k": b"v"}, {b"m": b"w"})


@given(
    values=st.lists(st.none() | st.text(max_size=20), max_size=20),
    kind=st.sampled_from([pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]),
    start=st.integers(0, 20),
)
def test_sizes_after_normalising_are_those_of_the_values(values: list[Any], kind: pa.DataType, start: int) -> None:
    batch = normalise(pa.record_batch([pa.array(values, kind)], ["body"]).slice(min(start, len(values))))
    block: ArrowBlock[Any] = ArrowBlock.of_column(batch, "body")
    expected = [None if value is None else value.encode() for value in values[start:]]
    assert [block[index] for index in range(len(block))] == expected
    sizes = [block.size_in_bytes(index, index + 1) for index in range(len(block))]
    assert sizes == [len(value or b"") for value in expected]
