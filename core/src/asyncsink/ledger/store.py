"""What a ledger is kept in: small files in a folder, which two processes of a query share."""

from __future__ import annotations

from typing import Protocol

from asyncsink.ledger.local import LocalStore
from asyncsink.ledger.location import Location


class Store(Protocol):
    """Small files by relative names with ``/``, which are replaced whole or created once. All calls block.

    Whoever reads sees only whole contents, also of writers that are killed. No part of a name may be empty or begin
    with a dot (:exc:`ValueError`). A store is used by the process that has opened it, and is not pickled.

    :raises LedgerError: whatever fails: names the operation, the file, the location, the cause and the remedy
    """

    @property
    def location(self) -> str:
        """Where it is, for messages: credentials in a URL are hidden."""

    def read(self, name: str) -> bytes | None:
        """The contents of a file; None if there is none."""

    def replace(self, name: str, data: bytes) -> None:
        """Set the contents of a file, atomically; durable when this returns. Folders are made as needed."""

    def create(self, name: str, data: bytes) -> bool:
        """Create a file whole, unless there is one: then False. Of any number of callers one gets True.

        Over a network False may also mean one's own file: the client of an object store repeats a request whose answer
        got lost. Who must know puts something unique into `data`, and reads.

        :raises LedgerUnavailableError: the file system cannot create exclusively; nothing has been written then
        """

    def prove_exclusive(self) -> None:
        """Make sure that :meth:`create` is exclusive, before anything is created; makes the folder.

        A process does not ask an object store twice.

        :raises LedgerUnavailableError: the file system cannot create exclusively
        """

    def modified_s(self, name: str) -> float | None:
        """When a file was written, in seconds by the store's own clock; None if there is none, or it cannot tell."""

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder (``""``: the store's own), sorted; none if it does not exist."""

    def folders(self, folder: str) -> list[str]:
        """The names of the folders in a folder (``""``: the store's own), sorted; none if it does not exist."""

    def remove(self, *names: str) -> None:
        """Remove files, those of them that there are. After a power failure they may be back."""

    def sweep(self, folder: str) -> None:
        """Remove what killed writers have left in a folder; an hour must have passed. May cost a listing."""

    def within(self, folder: str) -> Store:
        """The same store, one or more folders deeper."""


def open_store(location: str) -> Store:
    """A store at a place as Spark's users name it. Neither a disk nor an object store is asked for anything.

    A folder of this machine (a path, ``file:``, and ``dbfs:`` where it is mounted at ``/dbfs``), or whatever fsspec has
    a back end for, by Hadoop's names: ``s3a://bucket/x``, ``gs://``, ``abfss://container@account.../x``, ``hdfs:/x``.

    :raises LedgerUnavailableError: there is no back end for it, or it is not installed; names what to install
    :raises LedgerError: its back end connects at once, and cannot: there may well be a ledger
    """
    place = Location.of(location)
    if place.path is not None:
        return LocalStore(place.path, place.shown)
    from asyncsink.ledger.remote import open_remote

    return open_remote(place)
