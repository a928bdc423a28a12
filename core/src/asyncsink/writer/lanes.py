"""The lanes and scopes of one writer, made when a route first comes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from asyncsink.limits.limiter import Limiter
from asyncsink.writer.buffer import Lane
from asyncsink.writer.deterministic import Cuts, DeterministicLane
from asyncsink.writer.keyed import KeyedLane
from asyncsink.writer.scope import Scope

if TYPE_CHECKING:
    from asyncsink.blocks import EntryBlock

_NONE_YET: Any = object()


class Lanes(dict[Hashable | None, Lane]):
    """A lane for each route that has something to do, and a scope for each limiter that these lanes need.

    :param limiter_of: the limiter of a scope, shared with other writers
    :param keys_of: the keys of a block's entries where each key has an order to be kept; None where there is none
    :param atomic: whether the sink stores requests whole, so that one may hold many entries of a key
    :param cuts: where batches end if the entries alone decide; None where time and load do
    """

    def __init__(
        self,
        scope_of: Callable[[Hashable | None], Hashable | None],
        limiter_of: Callable[[Hashable | None], Limiter],
        keys_of: Callable[[EntryBlock[Any]], Any] | None,
        atomic: bool,
        cuts: Cuts | None = None,
    ) -> None:
        super().__init__()
        self.scopes: dict[Hashable | None, Scope] = {}
        self.many_scopes = False
        """Whether a second scope has ever been seen."""
        self._scope_of, self._limiter_of = scope_of, limiter_of
        self._keys_of, self._atomic, self._cuts = keys_of, atomic, cuts
        self._first_scope: Any = _NONE_YET

    def of(self, route: Hashable | None) -> Lane:
        """The lane of a route, made when it is first asked for."""
        lane = self.get(route)
        if lane is None:
            scope = self._scope(self._scope_of(route))
            scope.lanes += 1
            lane = self[route] = self._made(route, scope)
        return lane

    def _made(self, route: Hashable | None, scope: Scope) -> Lane:
        if self._cuts is not None:
            return DeterministicLane(route, scope, self._cuts)
        keys_of = self._keys_of
        return Lane(route, scope) if keys_of is None else KeyedLane(route, scope, keys_of, self._atomic)

    def _scope(self, name: Hashable | None) -> Scope:
        scope = self.scopes.get(name)
        if scope is None:
            scope = self.scopes[name] = Scope(name, self._limiter_of(name))
            scope.limiter.reset_time()
            self.many_scopes = self.many_scopes or self._first_scope not in (_NONE_YET, name)
            self._first_scope = name
        return scope

    def drop(self, lane: Lane) -> Scope | None:
        """Forget an empty lane, so that routes may come and go without end; its scope, if that was the last of it.

        Its limiter stays with the cache.
        """
        if self.get(lane.route) is not lane:
            return None  # a late answer: another lane of this route has been made since
        del self[lane.route]
        lane.scope.lanes -= 1
        return None if lane.scope.lanes else self.scopes.pop(lane.scope.name)
