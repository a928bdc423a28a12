"""The names of files: by them the leftovers of dead attempts are told from what others have put there.

``<path>/_asyncsink/<sink id>/`` holds what nobody is to see yet; Spark, Hadoop and Hive pass over names that begin with
an underscore. A file in it is called ``<sink id>-<generation>-<writer id>-<attempt>-<random>`` from its first byte on,
and has its final name, which holds the same, once it is committed. On S3 nobody sees an upload that is not complete: it
has its final key from the beginning, and counts as a file of that folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from asyncsink.context import InitContext

HIDDEN: Final = "_asyncsink"
MANIFEST: Final = "_manifest"

_UNCOMMITTED: Final = "at-least-once"
_PART: Final = re.compile(r"(?P<sink_id>[0-9a-f]{16})-(?P<generation>\d+)-\d+-\d+-[0-9a-f]{12}")
_FINAL: Final = re.compile(r".+-(?P<base>[0-9a-f]{16}-\d+-\d+-\d+-[0-9a-f]{12})\.[a-z.]+")
_COMMITTED: Final = re.compile(r"committed-(?P<generation>\d+)")


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose files they are: one attempt of one writer.

    :param folder: the folder within the destination in which they lie until they are committed
    """

    folder: str
    sink_id: str
    generation: int
    writer_id: int
    attempt: int

    @classmethod
    def of(cls, context: InitContext) -> Origin:
        """Those of a writer; where nothing will be committed they bear a random id."""
        transaction = context.transaction
        if transaction is None:
            return cls(f"{HIDDEN}/{_UNCOMMITTED}", uuid4().hex[:16], 0, context.writer_id, context.attempt)
        folder = folder_of_sink(transaction.sink_id)
        return cls(folder, transaction.sink_id, transaction.generation, context.writer_id, context.attempt)

    def new_name(self) -> str:
        """A name, within the destination, that no file ever had."""
        own = f"{self.sink_id}-{self.generation}-{self.writer_id}-{self.attempt}"
        return f"{self.folder}/{own}-{uuid4().hex[:12]}"


def folder_of_sink(sink_id: str) -> str:
    """Where files lie until they are committed."""
    return f"{HIDDEN}/{sink_id}"


def base_of(name: str) -> str:
    """A name without its folders."""
    return name.rpartition("/")[2]


def final_name(name: str, prefix: str, extension: str) -> str:
    """The name of a file once it is committed; writers first, so that a listing has them side by side."""
    return f"{prefix}-{base_of(name)}{extension}"


def origin_of(name: str) -> tuple[str, int] | None:
    """Sink id and generation of a file that is not committed; None if it is none of ours."""
    found = _PART.fullmatch(base_of(name))
    return None if found is None else (found["sink_id"], int(found["generation"]))


def base_of_final(name: str) -> str | None:
    """What a file is called until it is committed, by its final name; None if it is none of ours."""
    found = _FINAL.fullmatch(base_of(name))
    return None if found is None else found["base"]


def committed_marker(name: str) -> str | None:
    """What says, beside a file, that its generation is committed; None if the file is none of ours."""
    origin = origin_of(name)
    return None if origin is None else f"{name.rpartition('/')[0]}/committed-{origin[1]}"


def marked_generation(base: str) -> int | None:
    """The generation that a marker speaks of; None if it is none."""
    found = _COMMITTED.fullmatch(base)
    return None if found is None else int(found["generation"])
