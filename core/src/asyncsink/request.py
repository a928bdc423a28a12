"""One request: what a connector is handed, and what it answers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from asyncsink.blocks import EntryBlock
from asyncsink.failures import Failure

EntryT = TypeVar("EntryT")


class RequestEntries(Sequence[EntryT], Generic[EntryT]):
    """The entries of one request, in order; immutable.

    Use it as a sequence of entries, or take :attr:`block` where the encoder works on whole blocks.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def id(self) -> str:
        """Unique for ever: ``<query or random>/<batch>/<partition>/<attempt>.<random>-<n>``.

        Only a resend of the same entries in the same order repeats it: an idempotency key. With ``batching =
        "deterministic"`` it is ``<query or random>/<batch>/<partition>/<first>+<count>``, and a writer that is given
        the same elements again after a crash repeats it, too.
        """

    @property
    @abstractmethod
    def attempt(self) -> int:
        """How often this id has been sent, this time included."""

    @property
    @abstractmethod
    def route(self) -> Hashable | None:
        """What :meth:`AsyncSink.route_of` said of every one of the entries."""

    @property
    @abstractmethod
    def size_in_bytes(self) -> int:
        """Bytes of all entries, as the service counts them."""

    @property
    @abstractmethod
    def block(self) -> EntryBlock[EntryT]:
        """The entries as one block, merged when it is first asked for."""

    @abstractmethod
    def _entry(self, index: int) -> EntryT:
        """The entry at an index from 0 to before the number of entries."""

    def __getitem__(self, index: Any, /) -> Any:
        count = len(self)
        if isinstance(index, slice):
            return [self._entry(each) for each in range(*index.indices(count))]
        if not -count <= index < count:
            raise IndexError(f"a request of {count} entries has no index {index}")
        return self._entry(index % count)


@dataclass(frozen=True, slots=True)
class RequestResult:
    """The answer to a request: which entries it did not store. Empty means all are stored.

    :param failed: the failures by index into the request's entries. An index outside the request is a bug of the
        connector and fails the writer
    :param pause_s: seconds for which the service asks to be left alone although it has answered, such as the rest of
        a window whose quota is used up. The whole scope waits, at most ``retry.retry_after_cap_s``; nothing has
        failed, so neither backoff nor the destination's time begins
    """

    failed: Mapping[int, Failure] = field(default_factory=dict)
    pause_s: float | None = None

    OK: ClassVar[RequestResult]

    @classmethod
    def from_codes(cls, codes: Iterable[tuple[str | None, str] | None]) -> RequestResult:
        """Build an answer from one ``(code, message)`` or None for each entry, in order, as bulk APIs give them.

        None, and a code that is None or empty, stand for success.
        """
        return cls({index: Failure(pair[0], pair[1]) for index, pair in enumerate(codes) if pair and pair[0]})


RequestResult.OK = RequestResult()


class ListRequestEntries(RequestEntries[EntryT]):
    """Request entries outside a writer, such as in a connector's own tests."""

    __slots__ = ("_attempt", "_block", "_id", "_route")

    def __init__(
        self, block: EntryBlock[EntryT], *, id: str = "test/-/0/0-1", attempt: int = 1, route: Hashable | None = None
    ) -> None:
        self._block, self._id, self._attempt, self._route = block, id, attempt, route

    @property
    def id(self) -> str:
        return self._id

    @property
    def attempt(self) -> int:
        return self._attempt

    @property
    def route(self) -> Hashable | None:
        return self._route

    @property
    def size_in_bytes(self) -> int:
        return self._block.size_in_bytes(0, len(self._block))

    @property
    def block(self) -> EntryBlock[EntryT]:
        return self._block

    def __len__(self) -> int:
        return len(self._block)

    def _entry(self, index: int) -> EntryT:
        return self._block[index]
