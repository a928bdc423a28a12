from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncsink_firehose.columns import rows_of_column
from asyncsink_firehose.delimiter import delimited, parse_delimiter


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("auto", None),
        ("AUTO", None),
        ("none", b""),
        ("", b""),
        ("newline", b"\n"),
        ("\n", b"\n"),
        ("\\n", b"\n"),
        ("\\r\\n", b"\r\n"),
        ("\\t", b"\t"),
        ("\\0", b"\0"),
        ("\\\\n", b"\\n"),
        ("|", b"|"),
        (" ", b" "),
        ("  ", b"  "),
        ("\r\n", b"\r\n"),
        ("\n\n", b"\n\n"),
        ("\t\t", b"\t\t"),
        (" none ", b""),
        ("§", "§".encode()),
    ],
)
def test_the_words_and_characters_of_the_option(text: str, found: bytes | None) -> None:
    assert parse_delimiter(text) == found


def test_a_row_gets_the_delimiter_once() -> None:
    assert delimited(b"a", b"\n") == delimited(b"a\n", b"\n") == b"a\n"
    assert delimited(b"a\n", b"") == b"a\n"


@pytest.mark.parametrize(("row", "delimiter"), [(b"", b"\n"), (b"\n", b"\n"), (b"", b"")])
def test_a_row_of_which_nothing_would_be_seen_is_refused(row: bytes, delimiter: bytes) -> None:
    with pytest.raises(ValueError, match="nothing of it would be seen at the destination; filter such rows out"):
        delimited(row, delimiter)


def test_a_row_that_would_be_taken_for_two_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"holds the delimiter b'\\n' and would be taken for several rows; .*delimiter=none"
    ):
        delimited(b"a\nb", b"\n")
    assert delimited(b"a\nb", b"|") == b"a\nb|"


@pytest.mark.parametrize(("row", "delimiter"), [(b"x|", b"||"), (b"x\n", b"\n\n"), (b"xab", b"abab")])
def test_a_row_with_which_the_delimiter_would_begin_too_early_is_refused(row: bytes, delimiter: bytes) -> None:
    with pytest.raises(ValueError, match="would be taken for several rows"):
        delimited(row, delimiter)
    assert delimited(delimiter[:1] + b"x", delimiter) == delimiter[:1] + b"x" + delimiter


def columns(values: list[bytes]) -> list[pa.RecordBatch]:
    plain = pa.array(values, pa.binary())
    kinds = [plain, plain.cast(pa.large_binary()), plain.dictionary_encode()]
    sliced = pa.array([b"before", *values, b"after"], pa.binary()).slice(1, len(values))
    return [pa.record_batch({"data": column}) for column in (*kinds, sliced)]


@settings(deadline=None)
@given(
    values=st.lists(st.binary(max_size=12) | st.text("ab|", max_size=6).map(str.encode), max_size=12),
    delimiter=st.sampled_from([b"", b"\n", b"\r\n", b"ab", b"||", b"aba"]),
)
def test_a_column_is_delimited_as_each_of_its_rows(values: list[bytes], delimiter: bytes) -> None:
    expected: list[bytes] | None
    try:
        expected = [delimited(value, delimiter) for value in values]
    except ValueError:
        expected = None
    for batch in columns(values):
        if expected is None:
            with pytest.raises(ValueError, match=r"^column 'data' of row \d+: the payload"):
                rows_of_column(batch, "data", delimiter)
            continue
        block = rows_of_column(batch, "data", delimiter)
        assert list(block) == expected
        if delimiter:
            bare = [value.removesuffix(delimiter) for value in values]
            assert b"".join(block).split(delimiter) == [*bare, b""]
        assert block.size_in_bytes(0, len(block)) == sum(map(len, expected))


def test_a_delimiter_whose_halves_meet_between_two_rows_is_none() -> None:
    batch = pa.record_batch({"data": pa.array([b"a", b"b"], pa.binary())})
    assert list(rows_of_column(batch, "data", b"ab")) == [b"aab", b"bab"]


def test_strings_are_sent_in_utf8() -> None:
    batch = pa.record_batch({"data": pa.array(["ä", "漢"])})
    assert list(rows_of_column(batch, "data", b"\n")) == ["ä\n".encode(), "漢\n".encode()]


def test_a_null_is_refused_by_column_and_row() -> None:
    batch = pa.record_batch({"value": pa.array([b"a", None], pa.binary())})
    with pytest.raises(
        ValueError, match=r"column 'value' of row 1: the payload is null, so there is nothing to send; filter"
    ):
        rows_of_column(batch, "value", b"")
