"""Texts of whole Arrow columns: what each distinct value costs in Python, each row does not."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from asyncsink.arrow.json_rows import json_column, payload_column, valid_text
from asyncsink.arrow.normalise import normalise

if TYPE_CHECKING:
    from asyncsink_http.templates.template import Template

_TEXT = pa.large_string()


def mapped(batch: pa.RecordBatch, column: str, text_of: Callable[[Any], str]) -> Any:
    """The values of a column, each as `text_of` writes it; asked once for each distinct one."""
    values = normalise(batch.select([column])).column(0)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        values = valid_text(values)
    if values.null_count:
        text_of(None)  # raises where null has no form
    encoded = values.dictionary_encode()
    texts = [text_of(value) for value in encoded.dictionary.to_pylist()]
    return pa.array(texts, _TEXT).take(encoded.indices)


def json_values(batch: pa.RecordBatch, column: str) -> Any:
    """The JSON of each value of a column, ``null`` for a null."""
    values = normalise(batch.select([column])).column(0)
    # As the one element of a list a null is written, where a null column would be left out.
    listed = pa.LargeListArray.from_arrays(pa.array(np.arange(len(values) + 1)), values)
    rows = json_column(pa.RecordBatch.from_arrays([listed], [column])).cast(_TEXT)
    before = len(json.dumps(column, ensure_ascii=False)) + len("{:[")
    return pc.utf8_slice_codeunits(rows, before, -len("]}"))


def ready_values(batch: pa.RecordBatch, column: str) -> Any:
    """The strings, or bytes in UTF-8, of a column without nulls."""
    return valid_text(payload_column(batch.select([column]), column).view(_TEXT))


def joined(parts: Sequence[Any], count: int) -> Any:
    """Texts and columns, joined for each of `count` rows."""
    if not any(isinstance(part, pa.Array) for part in parts):
        return pa.array(["".join(parts)] * count, _TEXT)
    columns = [pa.scalar(part, _TEXT) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*columns, pa.scalar("", _TEXT))


def dictionary(template: Template, batch: pa.RecordBatch) -> tuple[list[str], Any]:
    """The distinct texts of a template over the rows of a batch, and for each row the index of its own."""
    if not template.columns:
        return [template.literal], np.zeros(batch.num_rows, np.int64)
    encoded = template.render_columns(batch).dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()


def maps(batch: pa.RecordBatch, column: str) -> tuple[list[Any], Any]:
    """The distinct maps of a column as tuples of pairs, () for a null, and for each row the index of its own."""
    found = normalise(batch.select([column])).column(0).to_pylist()
    distinct: dict[Any, int] = {}
    indices = [distinct.setdefault(tuple(pairs or ()), len(distinct)) for pairs in found]
    return list(distinct), np.array(indices, np.int64)


def combined(parts: Sequence[tuple[list[Any], Any]]) -> tuple[list[tuple[Any, ...]], Any]:
    """The distinct combinations of several such columns, and for each row the index of its own."""
    codes = np.zeros(len(parts[0][1]), np.int64)
    for distinct, indices in parts:
        if len(distinct) > 1:
            # Numbered anew after each column, so that no product of many columns outgrows the numbers.
            _, codes = np.unique(codes * len(distinct) + indices, return_inverse=True)
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    found = [tuple(distinct[indices[row]] for distinct, indices in parts) for row in first.tolist()]
    return found, codes


def filled(batch: pa.RecordBatch, column: str, where: Sequence[bool]) -> pa.RecordBatch:
    """The batch with an empty value for each null of a string or binary column in the rows where that is asked for."""
    plain = normalise(batch)
    values = plain.column(column)
    empty = pc.and_(values.is_null(), pa.array(where, pa.bool_()))
    found = pc.if_else(empty, pa.scalar(b"", pa.binary()).cast(values.type), values)
    return plain.set_column(plain.schema.get_field_index(column), column, found)
