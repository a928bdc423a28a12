"""What an author says of a connector, so that the checks know what to ask of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Guarantee = Literal["at-least-once", "exactly-once"]
Ordering = Literal["none", "key", "partition"]
KeepsState = bool | Literal["without rows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """The facts about a connector and its service. None has a default: a fact new to the kit has to be answered.

    The checks of what is denied count as not applicable, and the report says so.

    :param guarantee: what a connector delivers without options of its own; with ``"exactly-once"`` nothing may ever
        stand in the destination twice
    :param ordering: ``"key"`` if it can keep the order of each key, by ``ordering=key``; ``"partition"`` if the service
        has partitions that keys choose, and the connector keeps the order of each without being asked
    :param partial_failure: the service answers for single entries of a request
    :param atomic_requests: the service stores a request whole or not at all
    :param idempotent: the destination drops what it has stored before, so that nothing ever stands there twice
    :param rejects_entries: the service can refuse entries for what they hold
    :param retry_after: the service says how long to wait, and the connector heeds it
    :param keeps_state: a writer's state can be turned into bytes and back; True if what it has not delivered is in
        there, ``"without rows"`` if only what it knows is, so that whoever had handed them over does so again
    :param commits: what its writers prepare is visible once a committer has committed it, and never twice
    :param max_batch_entries: the service's limit on the entries of a request, if it has one
    :param max_batch_bytes: the service's limit on the bytes of a request, if it has one
    :param max_record_bytes: the service's limit on the bytes of an entry, if it has one
    :param client_modules: top-level modules of the client library, which finding the connector must not import
    :raises ValueError: a fact cannot be what it is said to be
    """

    guarantee: Guarantee
    ordering: Ordering
    partial_failure: bool
    atomic_requests: bool
    idempotent: bool
    rejects_entries: bool
    retry_after: bool
    keeps_state: KeepsState
    commits: bool
    max_batch_entries: int | None
    max_batch_bytes: int | None
    max_record_bytes: int | None
    client_modules: tuple[str, ...]

    def __post_init__(self) -> None:
        for name, words in (("guarantee", get_args(Guarantee)), ("ordering", get_args(Ordering))):
            if getattr(self, name) not in words:
                raise ValueError(f"{name} = {getattr(self, name)!r}; it is one of {', '.join(map(repr, words))}")
        if self.keeps_state not in (True, False, "without rows"):
            raise ValueError(f"keeps_state = {self.keeps_state!r}; it is True, False or 'without rows'")
        for name in ("max_batch_entries", "max_batch_bytes", "max_record_bytes"):
            limit = getattr(self, name)
            if limit is not None and limit < 1:
                raise ValueError(f"{name} = {limit}; a limit is 1 or more, and None where the service has none")
        if isinstance(self.client_modules, str):  # it would be taken for modules of one letter, which nobody imports
            name = self.client_modules
            raise ValueError(f"client_modules = {name!r} is one string; write a tuple of names, ({name!r},)")
