"""Files of JSON Lines in a folder, read back as anybody would."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from asyncsink_testing.chaos.errors import ChaosError
from asyncsink_testing.chaos.source import Row

NAME = "files"
_HIDDEN, _MANIFEST = "_asyncsink", "_manifest"


class FolderReader:
    """Reads the folder of a run: for a look at what goes on also what nobody is to see yet, in the end only the rest.

    Every row stands in a file that a commit has shown, and those are the files that the manifest lists.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / NAME
        self._read: dict[str, int] = {}
        """By file, as it was called when it was begun: how far it has been read. The number of its inode would not do,
        which a file may have from one that was swept."""

    def fresh(self) -> list[Row]:
        """The rows that writers have written since the last call, be they committed or not."""
        return [row for file in [*self._hidden(), *self._shown()] for row in self._beyond(file)]

    def everything(self) -> list[Row]:
        """The rows that everybody sees.

        :raises ChaosError: the manifest lists other files than there are
        """
        shown = [*self._shown()]
        listed = sorted(self._listed())
        if listed != sorted(file.name for file in shown):
            raise ChaosError(f"the manifest lists {len(listed)} files, and {len(shown)} are shown, or others")
        return [json.loads(line) for file in shown for line in file.read_text(encoding="utf-8").splitlines()]

    def close(self) -> None:
        """Keeps nothing open."""

    def _shown(self) -> Iterator[Path]:
        return self._folder.glob("[!_.]*.json")

    def _hidden(self) -> Iterator[Path]:
        for sink in _entries(self._folder / _HIDDEN):
            yield from (file for file in _entries(sink) if not file.name.startswith("committed"))

    def _listed(self) -> Iterator[str]:
        for version in self._folder.glob(f"{_MANIFEST}/*.json"):
            yield from (file["path"] for file in json.loads(version.read_text())["files"])

    def _beyond(self, file: Path) -> Iterator[Row]:
        begun_as = file.name.removeprefix("part-").removesuffix(".json")
        start = self._read.get(begun_as, 0)
        try:
            if file.stat().st_size <= start:
                return
            with file.open("rb") as opened:
                opened.seek(start)
                data = opened.read()
        except FileNotFoundError:
            return  # it was committed or swept meanwhile, and is found under its other name
        whole = data[: data.rfind(b"\n") + 1]
        self._read[begun_as] = start + len(whole)
        yield from map(json.loads, whole.splitlines())


def _entries(folder: Path) -> list[Path]:
    """What stands in a folder that a commit removes when it has shown the last of its files."""
    try:
        return [*folder.iterdir()]
    except FileNotFoundError:
        return []
