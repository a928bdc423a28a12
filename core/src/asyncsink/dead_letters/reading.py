"""Dead letters read back, and made into what a writer sends again."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar

from asyncsink.dead_letters.encoding import FORMATS, Format, from_json_line, from_values, parquet_module
from asyncsink.dead_letters.letter import DeadLetter
from asyncsink.dead_letters.location import checked_path, filesystem, local_path, shown
from asyncsink.dead_letters.maker import connector_of
from asyncsink.errors import ConfigurationError, DeadLetterError
from asyncsink.state import BufferedRequestState

if TYPE_CHECKING:
    from asyncsink.async_sink import AsyncSink
    from asyncsink.configured_sink import ConfiguredSink

_log = logging.getLogger(__name__)

EntryT = TypeVar("EntryT")


def read_dead_letters(
    path: str | Path, format: Format | None = None, storage_options: Mapping[str, Any] | None = None
) -> Iterator[DeadLetter]:
    """The letters of a file, or of all files of a folder in the order of their names. Blocks.

    The end of a file of JSON lines that a crashed writer has left incomplete is passed over with a warning: no write
    had returned for it. A folder without letters gives none.

    :param format: of a file whose suffix does not tell it; of a folder, to read only its files of this format
    :raises ConfigurationError: there is no such file or folder, its format is not known, or a package is missing
    :raises DeadLetterError: while iterating: a letter is damaged or of a newer schema, or a file cannot be read
    """
    path = checked_path(path)
    if format is not None and format not in FORMATS:
        raise ConfigurationError(
            f"the format of dead letters = {format!r} is not known; it must be one of {', '.join(FORMATS)}"
        )
    place = _place(path, storage_options)
    if not place.exists():
        raise ConfigurationError(f"there are no dead letters at {shown(path)}; name the folder that they went to")
    if place.is_folder():
        wanted = FORMATS if format is None else (format,)
        files = [(each, found) for each in sorted(place.names()) if (found := _format_of(each)) in wanted]
    else:
        files = [(place.root, _format_of_file(path, format))]
    return _letters(place, files)


def _letters(place: _Place, files: list[tuple[str, Any]]) -> Iterator[DeadLetter]:
    for name, kind in files:
        try:
            with place.open(name) as file:
                yield from (_json_letters if kind == "jsonl" else _parquet_letters)(file, shown(name))
        except OSError as error:
            raise DeadLetterError(
                f"the dead letters in {shown(name)} cannot be read: {type(error).__name__}: "
                f"{error.strerror or 'see the chained error'}; make sure that the file exists and may be read"
            ) from error


def _json_letters(file: BinaryIO, name: str) -> Iterator[DeadLetter]:
    for number, line in enumerate(file, start=1):
        try:
            letter = from_json_line(line, f"{name}, line {number}")
        except DeadLetterError:
            if line.endswith(b"\n"):
                raise
            _log.warning(
                "%s ends with %d bytes of a dead letter that its writer could not complete before it crashed; they "
                "are passed over, as the task that wrote them has been or will be repeated",
                name,
                len(line),
            )
            return
        yield letter


def _parquet_letters(file: BinaryIO, name: str) -> Iterator[DeadLetter]:
    parquet = parquet_module()
    try:
        for number, row in enumerate(parquet.rows_of(file), start=1):
            yield from_values(row, f"{name}, row {number}")
    except ValueError as error:  # pyarrow's errors of format are ValueErrors
        raise DeadLetterError(f"{name} is no complete Parquet file of dead letters; remove it ({error})") from error


def entries_of(letters: Iterable[DeadLetter], sink: ConfiguredSink[Any, Any, Any, Any]) -> list[Any]:
    """The entries in `letters`, by the sink's ``entry_serializer``, in order.

    :raises DeadLetterError: a letter holds an element and no entry, is of another connector, or is of a version that
        the serializer does not read
    :raises ConfigurationError: the sink has no ``entry_serializer``
    """
    if sink.entry_serializer is None:
        raise ConfigurationError(
            f"{connector_of(sink)} has no entry_serializer, so that its dead letters hold no entries; give it one"
        )
    entries = []
    for letter in letters:
        data = _entry_bytes(letter, connector_of(sink))
        try:
            entries.append(sink.entry_serializer.deserialize(letter.entry_version or 0, data))
        except ValueError as error:
            raise DeadLetterError(
                f"the entry of the dead letter {letter.idempotency_id} cannot be read: {error}"
            ) from error
    return entries


def _entry_bytes(letter: DeadLetter, connector: str) -> bytes:
    if letter.entry is None:
        raise DeadLetterError(
            f"the dead letter {letter.idempotency_id} ({letter.reason}, {letter.code}) holds an element and no entry; "
            "take only letters whose entry is not None, and write the mended element as any other"
        )
    if letter.connector != connector:
        raise DeadLetterError(
            f"the dead letter {letter.idempotency_id} is of {letter.connector}, not of {connector}; give the sink that "
            "it came from, or, if its class was renamed, dataclasses.replace(letter, connector=...)"
        )
    return letter.entry


def as_state(letters: Iterable[DeadLetter], sink: AsyncSink[Any, EntryT, Any]) -> BufferedRequestState[EntryT]:
    """The entries in `letters` as a writer's state: ``sink.open(states=[as_state(letters, sink)])`` sends them again.

    The ids of their new requests are new: who relies on those of the old ones sees them as new entries.

    :raises DeadLetterError: as :func:`entries_of` does
    """
    entries = entries_of(letters, sink)
    return BufferedRequestState(tuple(entries), tuple(sink.sizes(entries)))


class _Place(NamedTuple):
    """A folder or file, here or elsewhere; `filesystem` is None here."""

    root: str
    filesystem: Any

    def exists(self) -> bool:
        return Path(self.root).exists() if self.filesystem is None else bool(self.filesystem.exists(self.root))

    def is_folder(self) -> bool:
        return Path(self.root).is_dir() if self.filesystem is None else bool(self.filesystem.isdir(self.root))

    def names(self) -> list[str]:
        """The paths in the folder, but for hidden ones, such as files that are being written."""
        if self.filesystem is None:
            found = [str(each) for each in Path(self.root).iterdir()]
        else:
            found = self.filesystem.ls(self.root, detail=False)
        return [each for each in found if not each.rpartition("/")[2].startswith((".", "_"))]

    def open(self, name: str) -> AbstractContextManager[Any]:
        if self.filesystem is None:
            return Path(name).open("rb")
        opened: AbstractContextManager[Any] = self.filesystem.open(name, "rb")
        return opened


def _place(path: str, storage_options: Mapping[str, Any] | None) -> _Place:
    folder = local_path(path)
    if folder is not None:
        return _Place(str(folder), None)
    found, root = filesystem(path, storage_options or {})
    found.invalidate_cache()  # of listings: writers elsewhere may have added files since
    return _Place(root, found)


def _format_of(name: str) -> Format | None:
    return next((each for each in FORMATS if name.endswith(f".{each}")), None)


def _format_of_file(path: str, format: Format | None) -> Format:
    found = format or _format_of(path)
    if found is None:
        raise ConfigurationError(
            f"the format of the dead letters in {shown(path)} is not told by its suffix; give format= one of "
            f"{', '.join(FORMATS)}"
        )
    return found
