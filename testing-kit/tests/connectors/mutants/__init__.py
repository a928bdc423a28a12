"""Broken connectors, each with the exact set of checks that must fail: what makes the kit itself trustworthy.

Each is the reference connector with one bug. A check is proved by a mutant of its own, which at most one other check
sees too; a mutant that many checks see proves none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from reference import CAPABILITIES, ReferenceSink

from asyncsink_testing import Capabilities

GROUPS = ("delivery", "faults", "limits", "ordering", "lifecycle", "configuration", "packaging", "spark")

SinkT = TypeVar("SinkT", bound=type[ReferenceSink])


@dataclass(frozen=True, slots=True)
class Mutant:
    """A broken connector.

    :param fails: the ids of the checks that must fail, and no others
    """

    name: str
    sink: type[ReferenceSink]
    fails: frozenset[str]
    capabilities: Capabilities

    @property
    def path(self) -> str:
        """How the registry finds it."""
        return f"{self.sink.__module__}:{self.sink.__qualname__}"

    @property
    def options_path(self) -> str:
        """How the registry finds its options."""
        options = self.sink.options_type
        return f"{options.__module__}:{options.__qualname__}"

    def __str__(self) -> str:
        return self.name


_mutants: dict[str, Mutant] = {}


def mutant(fails: Iterable[str], capabilities: Capabilities = CAPABILITIES) -> Callable[[SinkT], SinkT]:
    """Make a mutant of a sink; its docstring says what is broken."""

    def register(sink: SinkT) -> SinkT:
        name = sink.__name__
        if name in _mutants:
            raise ValueError(f"two mutants are called {name}")
        _mutants[name] = Mutant(name, sink, frozenset(fails), capabilities)
        return sink

    return register


def all_mutants() -> tuple[Mutant, ...]:
    """Every mutant, group by group."""
    for group in GROUPS:
        import_module(f"{__name__}.{group}")
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
