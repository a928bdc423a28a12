"""The files of one writer, from their first byte until they are pending. Everything here blocks."""

from __future__ import annotations

import errno
from collections.abc import Sequence

from asyncsink.errors import LedgerError
from asyncsink_files.committable import OpenFile, PendingFile
from asyncsink_files.formats import Encoder, Format, Piece
from asyncsink_files.naming import Origin, final_name
from asyncsink_files.options import FilesOptions
from asyncsink_files.storage import PartFile, Storage


class Part:
    """A file that is in progress."""

    def __init__(self, file: PartFile, encoder: Encoder, rows: int = 0) -> None:
        self.file, self.encoder, self.rows = file, encoder, rows

    def write(self, piece: Piece) -> None:
        self.encoder.write(piece)
        self.rows += piece.rows

    def finish(self) -> None:
        """Write what ends the file, durably."""
        self.encoder.finish()
        self.file.sync()


class Parts:
    """Begins files, fills them, finishes them, and shows them where nobody else will.

    :ivar states: of the file that was left open when the last commit was prepared, for a later writer
    :ivar count: files that were finished
    """

    def __init__(self, storage: Storage, options: FilesOptions, form: Format, origin: Origin) -> None:
        self._storage, self._options, self._format, self._origin = storage, options, form, origin
        self._part: Part | None = None
        self._finished: list[PendingFile] = []
        self.states: list[OpenFile] = []
        self.count = 0

    @property
    def rows(self) -> int:
        """Rows in files that are neither prepared nor shown."""
        return sum(each.rows for each in self._finished) + (0 if self._part is None else self._part.rows)

    def take_over(self, states: Sequence[OpenFile]) -> None:
        """Go on where earlier writers were; of several files, or files of another kind, all but one are finished.

        :raises LedgerError: a file is not there any more, or is shorter than it was
        """
        for state in states:
            self._finish()
            file = self._resumed(state)
            if state.extension == self._format.extension and self._format.is_resumable:
                self._part = Part(file, self._format.encoder(file), state.rows)
            else:
                file.sync()
                self._close(file, state.rows, state.extension)

    def write(self, pieces: Sequence[Piece]) -> None:
        """Write rows, and finish each file that is large enough."""
        for piece in pieces:
            if self._part is not None and not self._part.encoder.fits(piece):
                self._finish()
            if self._part is None:
                name = self._origin.new_name()
                file = self._storage.begin(name, self._final(name, self._format.extension))
                self._part = Part(file, self._format.encoder(file))
            self._part.write(piece)
            if self._part.file.size >= self._options.max_file_size:
                self._finish()

    def prepare(self, flush: bool) -> list[PendingFile]:
        """The files that are finished, to be committed; the open one is left open if it can be, and `flush` is not."""
        self.states = []
        if flush or not (self._format.is_resumable and self._storage.keeps_open):
            self._finish()
        elif self._part is not None:
            self._part.finish()
            file = self._part.file
            self.states = [OpenFile(file.name, file.size, self._part.rows, self._format.extension)]
        finished, self._finished = self._finished, []
        return finished

    def show(self) -> int:
        """Give all files their final names, where nobody commits them; the rows in them."""
        shown = self.prepare(flush=True)
        for each in shown:
            if not self._storage.show(each.name, each.final, each.receipt):
                raise FileNotFoundError(errno.ENOENT, "the file was removed before it was shown", each.name)
        if shown:
            self._storage.sync("")
        return sum(each.rows for each in shown)

    def close(self) -> None:
        """Give up what is open. What lies there is the committer's to remove, and stays if it is in a state."""
        if self._part is not None:
            self._part.file.close()

    def discard(self) -> None:
        """Remove what nobody will ever see, where there is no committer to do so."""
        names = [each.name for each in self._finished]
        if self._part is not None:
            names.append(self._part.file.name)
        self._storage.remove(*names)
        self._storage.remove_folder(self._origin.folder)

    def _resumed(self, state: OpenFile) -> PartFile:
        try:
            return self._storage.resume(state.name, state.length, self._origin.new_name())
        except (FileNotFoundError, EOFError) as error:
            raise LedgerError(
                f"the state of a writer names the file {state.name} in {self._storage.location} with {state.length} "
                f"bytes, and it is shorter or gone: {state.rows} rows that are in no committed file are lost. Bring "
                "the file back; or, to go on without them, remove the folder in which the state is kept"
            ) from error

    def _finish(self) -> None:
        if self._part is not None:
            part, self._part = self._part, None
            try:
                part.finish()
            except BaseException:
                self._part = part
                raise
            self._close(part.file, part.rows, self._format.extension)

    def _close(self, file: PartFile, rows: int, extension: str) -> None:
        file.close()
        self.count += 1
        final = self._final(file.name, extension)
        self._finished.append(PendingFile(file.name, final, rows, file.size, file.receipt))

    def _final(self, name: str, extension: str) -> str:
        return final_name(name, self._options.file_prefix, extension)
