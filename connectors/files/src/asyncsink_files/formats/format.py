"""What a format of files is to the writer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from asyncsink_files.storage import PartFile

ROWS_AT_ONCE: Final = 10_000
"""Rows of a piece: a file grows beyond its size by less than one."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows in a row, in the form in which an encoder takes them."""

    rows: int
    data: Any


class Encoder(Protocol):
    """Writes the rows of one file."""

    def fits(self, piece: Piece) -> bool:
        """Whether a piece can go into this file; if not, it goes into the next one."""
        ...

    def write(self, piece: Piece) -> None:
        """Take rows; some may stay in memory."""
        ...

    def finish(self) -> None:
        """Write what is in memory, and what ends the file. If the format is resumable, more may follow."""
        ...


class Format(Protocol):
    """Makes pieces of rows, and encoders.

    :ivar extension: what the final names of files end with
    :ivar is_resumable: whether a file can be gone on with after its encoder has finished
    """

    @property
    def extension(self) -> str: ...
    @property
    def is_resumable(self) -> bool: ...

    def entry(self, row: Mapping[str, Any]) -> Any:
        """What is kept of a row until there are enough for a piece.

        :raises Exception: a value has no form in files of this kind
        """
        ...

    def size_of(self, entry: Any) -> int:
        """About how many bytes an entry takes in memory."""
        ...

    def of_entries(self, entries: Sequence[Any]) -> list[Piece]:
        """Pieces of entries, in order."""
        ...

    def of_batch(self, batch: Any) -> list[Piece]:
        """Pieces of the rows of a ``pyarrow.RecordBatch``.

        :raises Exception: a value has no form in files of this kind
        """
        ...

    def encoder(self, file: PartFile) -> Encoder: ...
