from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink.options import parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5", 5.0),
        ("0.25", 0.25),
        (" 5 s ", 5.0),
        ("5S", 5.0),
        ("500ms", 0.5),
        ("1500 millis", 1.5),
        ("3 us", 3e-6),
        ("3µs", 3e-6),
        ("1min", 60.0),
        ("2 m", 120.0),
        ("2h", 7200.0),
        ("1 day", 86400.0),
        ("1.5h", 5400.0),
        ("1e2", 100.0),
        ("1_000", 1000.0),
        ("inf", inf),
        ("infinity", inf),
        ("Infinity", inf),
        ("-1", -1.0),
        ("1" + "0" * 400, inf),
    ],
)
def test_durations_are_read_as_flink_and_spark_write_them(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"), [("5000", 5.0), ("1", 0.001), ("0.5", 0.0005), ("5s", 5.0), ("1min", 60.0)]
)
def test_a_plain_number_counts_in_the_unit_of_its_name(text: str, seconds: float) -> None:
    assert parse_duration(text, "ms") == seconds


@pytest.mark.parametrize("text", ["", "s", "5 parsecs", "5 s 3 ms", "nan", "PT5S", "1,5s", "0x10", "5b", "--5"])
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="a duration such as 500ms, 5s, 1min or 2h"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4096", 4096),
        ("64k", 65536),
        ("4mb", 4 << 20),
        ("4 MB", 4 << 20),
        ("5MiB", 5 << 20),
        ("1g", 1 << 30),
        ("1 gb", 1 << 30),
        ("2t", 2 << 40),
        ("12 bytes", 12),
        ("12b", 12),
        ("1.5k", 1536),
        ("1 mebibytes", 1 << 20),
        ("1e3", 1000),
    ],
)
def test_sizes_are_binary_multiples_in_every_spelling(text: str, size: int) -> None:
    assert parse_size(text) == size
    assert type(parse_size(text)) is int


@pytest.mark.parametrize(
    "text", ["", "mb", "1.3b", "inf", "4 meters", "4m b", "nan", "5s", "1e999999999", "-1e999999999t"]
)
def test_anything_else_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="a size of whole bytes such as 4096, 64k, 4mb or 1g"):
        parse_size(text)


@given(st.integers(min_value=0, max_value=2**52))
def test_every_whole_number_of_bytes_is_read_exactly(size: int) -> None:
    assert parse_size(str(size)) == size
    assert parse_size(f"{size}k") == size * 1024


@given(st.integers(min_value=0, max_value=10**9))
def test_milliseconds_mean_the_same_as_unit_and_as_suffix(number: int) -> None:
    assert parse_duration(str(number), "ms") == parse_duration(f"{number}ms") == number / 1000
