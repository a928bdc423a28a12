"""The JSON body of a bulk request, from the columns of its records.

A join of ready fragments. For 500 records of 100 B it costs 190 ns a record, of 1 KB 300 ns, of 10 KB 0.9 us. msgspec
with base64 inside costs 130 ns, 800 ns and 8 us: base64 byte by byte is most of a larger body, and pybase64 has SIMD.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from pybase64 import b64encode

_json = msgspec.json.Encoder().encode

Texts = Sequence[str] | Sequence[str | None]
"""A field of each record; None where a record has it not."""


def body_of(
    head: Mapping[str, str], data: Sequence[bytes | memoryview], texts: Mapping[str, Texts] | None = None
) -> bytes:
    """The body ``{<head>, "Records": [{"Data": <base64>, <texts>}, ...]}``.

    :param head: fields of the request beside its records, such as ``StreamName``
    :param data: the payload of each record; at least one
    :param texts: further fields of the records, by name, with one value for each record
    :raises ValueError: there is no record, or a field has fewer or more values than there are records
    """
    if not data:
        raise ValueError("a body of no records was asked for; services refuse it: send at least one")
    columns: list[Sequence[bytes] | bytes] = [b'"},{"Data":"', [*map(b64encode, data)]]
    for name, values in (texts or {}).items():
        if len(values) != len(data):
            raise ValueError(f"field {name} has {len(values)} values for {len(data)} records; give one for each")
        columns += _field(name, values)
    return b'%b,"Records":[{"Data":"%b"}]}' % (_json(head)[:-1], _interleaved(columns, len(data)))


def _field(name: str, values: Texts) -> list[Sequence[bytes] | bytes]:
    """What goes between the opening quotes of two fields: constant where every record has the field."""
    begin = b'","%b":"' % name.encode()
    given = [value for value in values if value is not None]
    quoted = _unquoted(given)
    if len(given) == len(values):
        return [begin, quoted]
    rest = iter(quoted)
    return [[b"" if value is None else begin + next(rest) for value in values]]


def _unquoted(texts: Sequence[str]) -> list[bytes]:
    """Each text as JSON, without its quotes."""
    joined = _json(texts)
    if b"\\" in joined:
        # With an escaped quote in it the text cannot be told from the end of its neighbour.
        return [_json(text)[1:-1] for text in texts]
    return joined[2:-2].split(b'","') if texts else []


def _interleaved(columns: Sequence[Sequence[bytes] | bytes], count: int) -> bytes:
    """The columns row by row in one; the first of all fragments is left to the caller."""
    width = len(columns)
    parts = [b""] * (width * count)
    for place, column in enumerate(columns):
        parts[place::width] = [column] * count if isinstance(column, bytes) else column
    parts[0] = b""
    return b"".join(parts)
