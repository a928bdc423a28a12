"""Broken connectors, each with the exact set of checks that must fail: what makes the kit itself trustworthy.

Each is the reference connector, or the staged one, with one bug. A check is proved by a mutant of its own, which at
most one other check sees too; a mutant that many checks see proves none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

from packages import Package
from reference import CAPABILITIES, reference_destination, registered

from asyncsink import ConfiguredSink, EntryBlock, RequestEntries
from asyncsink_testing import Capabilities
from asyncsink_testing.conformance.trial import OpenDestination

MODULES = (
    "delivery", "faults", "failed_entries", "retrying", "limits", "ordering", "partitions", "lifecycle", "states",
    "committing", "sweeping", "configuration", "packaging", "spark",
)  # fmt: skip

SinkT = TypeVar("SinkT", bound=type[ConfiguredSink[Any, Any, Any, Any]])
PackageT = TypeVar("PackageT", bound=type[Package])


@dataclass(frozen=True, slots=True)
class Mutant:
    """A broken connector.

    :param fails: the ids of the checks that must fail, and no others
    :param provided: makes the registry find it by its name for as long as this is entered
    :param package: the distribution that carries it, where there is one
    :param through_spark: that only the checks of the group ``spark`` are asked, which take seconds each
    """

    name: str
    fails: frozenset[str]
    capabilities: Capabilities
    provided: Callable[[], AbstractContextManager[None]]
    package: type[Package] | None = None
    through_spark: bool = False
    open_destination: OpenDestination = reference_destination

    def __str__(self) -> str:
        return self.name


_mutants: dict[str, Mutant] = {}


def mutant(
    fails: Iterable[str],
    capabilities: Capabilities = CAPABILITIES,
    open_destination: OpenDestination = reference_destination,
) -> Callable[[SinkT], SinkT]:
    """Make a mutant of a sink, which the program registers; its docstring says what is broken."""

    def register(sink: SinkT) -> SinkT:
        name = sink.__name__
        provided = partial(registered, name, _path(sink), _path(sink.options_type))
        _add(Mutant(name, frozenset(fails), capabilities, provided, open_destination=open_destination))
        return sink

    return register


def packaged(
    fails: Iterable[str], capabilities: Capabilities = CAPABILITIES, *, through_spark: bool = False
) -> Callable[[PackageT], PackageT]:
    """Make a mutant of a distribution, which is installed into a folder; its docstring says what is broken."""

    def register(package: PackageT) -> PackageT:
        _add(Mutant(package.name, frozenset(fails), capabilities, package.installed, package, through_spark))
        return package

    return register


def _path(kind: type[Any]) -> str:
    """How the registry finds a class."""
    return f"{kind.__module__}:{kind.__qualname__}"


def _add(mutant: Mutant) -> None:
    if mutant.name in _mutants:
        raise ValueError(f"two mutants are called {mutant.name}")
    _mutants[mutant.name] = mutant


def all_mutants() -> tuple[Mutant, ...]:
    """Every mutant, group by group."""
    for module in MODULES:
        import_module(f"{__name__}.{module}")
    return tuple(_mutants.values())


class Wrapped:
    """A writer's every method, for mutants that break one of them: ``class Broken(Wrapped): async def flush(...)``."""

    def __init__(self, writer: Any) -> None:
        self.writer = writer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.writer, name)

    async def __aenter__(self) -> Any:
        await self.writer.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self.writer.__aexit__(*error)


class Chosen(RequestEntries[Any]):
    """A request with some of its entries, under its own id or another, for mutants that send something else.

    Indices in the answer are those of the chosen.
    """

    def __init__(self, entries: RequestEntries[Any], indices: Sequence[int] | None = None, name: str | None = None):
        self.of, self.name = entries, name
        self.indices = range(len(entries)) if indices is None else indices

    @property
    def id(self) -> str:
        return self.of.id if self.name is None else self.name

    @property
    def attempt(self) -> int:
        return self.of.attempt

    @property
    def route(self) -> Hashable | None:
        return self.of.route

    @property
    def size_in_bytes(self) -> int:
        return self.of.size_in_bytes

    @property
    def block(self) -> EntryBlock[Any]:
        return self.of.block.take(self.indices)

    def _entry(self, index: int) -> Any:
        return self.of[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)
