from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from asyncsink import ElementConverter, WriteContext


class Numbering(ElementConverter[Any, Any]):
    """Asks for everything that a context tells."""

    def apply(self, element: Any, context: WriteContext) -> Any:
        return element, context.sequence, context.timestamp, context.current_watermark


class ByGenerator(Sequence[Any]):
    """A sequence whose iterator cannot say how much is left."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: Any) -> Any:
        return self._values[index]

    def __iter__(self) -> Iterator[Any]:
        yield from self._values


class ByIndex:
    """A sequence of the oldest kind, without an iterator of its own."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: int) -> Any:
        return self._values[index]


@pytest.mark.parametrize("kind", [list, tuple, deque, ByGenerator, ByIndex, "".join])
def test_a_run_that_is_converted_one_by_one_numbers_its_elements(kind: Callable[[list[str]], Any]) -> None:
    converted = Numbering().apply_many(kind(["a", "b", "c"]), WriteContext(5, 6, 10))
    assert converted == [("a", 10, 5, 6), ("b", 11, 5, 6), ("c", 12, 5, 6)]


def test_an_empty_run_makes_no_entries() -> None:
    assert Numbering().apply_many([], WriteContext(sequence=3)) == []


def test_what_an_element_raises_comes_through() -> None:
    class Picky(Numbering):
        def apply(self, element: Any, context: WriteContext) -> Any:
            if context.sequence == 11:
                raise ValueError(element)
            return element

    with pytest.raises(ValueError, match="b"):
        Picky().apply_many(["a", "b"], WriteContext(sequence=10))
