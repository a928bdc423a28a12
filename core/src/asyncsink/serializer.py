"""Bytes with a version (FLIP-143), never pickles: they outlive the program that wrote them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Generic, TypeVar

T = TypeVar("T")


class SimpleVersionedSerializer(ABC, Generic[T]):
    """Turns values to bytes and back, over versions of the code."""

    version: ClassVar[int]
    """The version that :meth:`serialize` writes."""

    @abstractmethod
    def serialize(self, value: T) -> bytes:
        """The bytes of `value` in the present :attr:`version`."""

    @abstractmethod
    def deserialize(self, version: int, data: bytes) -> T:
        """The value of `data`, written in `version`.

        :raises ValueError: the version is unknown or the bytes are damaged
        """
