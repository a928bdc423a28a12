"""Texts of whole Arrow columns: what each distinct value costs in Python, each row does not."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from asyncsink.arrow.json_rows import json_column, payload_column, valid_text
from asyncsink.arrow.normalise import normalise

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


def dictionary(texts: Any) -> tuple[list[str], Any]:
    """The distinct texts of a column, and for each row the index of its own among them."""
    encoded = texts.dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()
