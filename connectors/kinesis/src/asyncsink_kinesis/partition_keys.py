"""What chooses a record's shard: the rules for keys, and how they are made where rows bring none.

Kinesis takes the MD5 of a partition key as a number of 128 bits, and each shard owns a range of these. An explicit
hash key is such a number itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from hashlib import blake2b
from typing import Any

from asyncsink.context import InitContext, idempotency_prefix
from asyncsink_kinesis.options import FIXED, RANDOM
from asyncsink_kinesis.shards.hash_keys import HIGHEST

MAX_KEY_LENGTH = 256
"""Unicode characters of a partition key."""
MAX_HASH_KEY = str(HIGHEST)
HASH_KEY_PATTERN = r"^(?:0|[1-9][0-9]{0,38})$"
"""The service's own; numbers of 39 digits may still be too large."""

_HASH_KEY = re.compile(HASH_KEY_PATTERN)
_HALF_PAIR = re.compile("[\ud800-\udfff]")


def check_key(key: Any, name: str) -> str:
    """A partition key of 1 to 256 characters; `name` says in an error where it comes from.

    :raises TypeError: it is no string
    :raises ValueError: it is null, empty or too long, or has no form in UTF-8
    """
    if key is None:
        raise ValueError(f"{name} is null; a partition key has 1 to {MAX_KEY_LENGTH} characters: fill it in")
    if not isinstance(key, str):
        raise TypeError(f"{name} is of type {type(key).__name__}; a partition key is a string")
    if not 1 <= len(key) <= MAX_KEY_LENGTH:
        raise ValueError(key_length_error(name, len(key)))
    if not key.isascii() and _HALF_PAIR.search(key):
        raise ValueError(f"{name} holds half a surrogate pair, which has no UTF-8: replace it")
    return key


def key_length_error(name: str, length: int) -> str:
    """What to say of a key with so many characters."""
    return f"{name} has {length} characters; a partition key has 1 to {MAX_KEY_LENGTH}: use a shorter column or a hash"


def check_hash_key(text: Any, name: str) -> str:
    """An explicit hash key: a whole number from 0 to 2^128-1 in decimal digits.

    :raises ValueError: it is none
    """
    if isinstance(text, Decimal | int) and not isinstance(text, bool):
        text = format(text, "f") if isinstance(text, Decimal) else str(text)
    if not isinstance(text, str) or not _HASH_KEY.fullmatch(text) or is_beyond(text):
        raise ValueError(hash_key_error(name))
    return text


def is_beyond(text: str) -> bool:
    """Whether a number that fits the pattern exceeds 2^128-1."""
    return len(text) == len(MAX_HASH_KEY) and text > MAX_HASH_KEY


def hash_key_error(name: str) -> str:
    """What to say of a hash key that is none."""
    return f"{name} is no explicit hash key: write a whole number from 0 to 2^128-1 in decimal digits, or null for none"


def key_text(value: Any, name: str) -> str | None:
    """A value of a key's column as text, as Spark casts it to a string; None for None.

    :raises TypeError: it is of a type whose text is not certain, such as a float
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(key_type_error(name, type(value).__name__))


def key_type_error(name: str, kind: str) -> str:
    """What to say of a column whose values make no key."""
    return f"{name} is of type {kind}, which makes no partition key; turn it into a string"


def missing_error(name: str) -> str:
    """What to say where a column of the key has no value."""
    return f"column {name!r} is missing or null, and the partition key is made of it; fill it in"


class KeyMaker:
    """Makes the partition keys of a writer's rows where no column holds them.

    ``random``: a key of its own for each row, made of the row's place, so that a task that is repeated repeats it.
    ``fixed``: one key for each writer. Else the values of columns, joined.
    """

    def __init__(self, kind: str, columns: tuple[str, ...], delimiter: str) -> None:
        self.kind, self.columns, self.delimiter = kind, columns, delimiter
        self._prefix: str | None = None
        self._writer_id = 0

    def open(self, context: InitContext) -> None:
        # Distinct texts are as good as random ones: the service hashes them anyway.
        place = idempotency_prefix(context).encode()
        self._prefix = f"{blake2b(place, digest_size=8).hexdigest()}-"
        self._writer_id = context.writer_id

    @property
    def prefix(self) -> str:
        """What a random key begins with; the row's sequence follows."""
        if self._prefix is None:
            raise RuntimeError("KinesisConverter.open(context) must be called before rows are converted")
        return self._prefix

    @property
    def fixed(self) -> str:
        """The key of all rows of the writer."""
        return str(self._writer_id)

    def of(self, element: Any, sequence: int) -> str:
        """The key of one element.

        :raises TypeError: keys are made of columns, and the element has none
        :raises ValueError: a column is missing or null, or the key is empty or too long
        """
        if self.kind == RANDOM:
            return f"{self.prefix}{sequence}"
        if self.kind == FIXED:
            return self.fixed
        if not isinstance(element, Mapping):
            raise TypeError(
                f"an element of type {type(element).__name__} has no columns {', '.join(self.columns)} to make its "
                "partition key of; write a mapping or a KinesisEntry, or set partitionKey=random"
            )
        return check_key(self._joined(element.get), self.described)

    @property
    def described(self) -> str:
        """The key, as messages name it."""
        return f"the partition key of {' and '.join(map(repr, self.columns))}"

    def _joined(self, value_of: Callable[[str], Any]) -> str:
        texts = [key_text(value_of(name), f"column {name!r}") for name in self.columns]
        for name, text in zip(self.columns, texts, strict=True):
            if text is None:
                raise ValueError(missing_error(name))
        return self.delimiter.join(text for text in texts if text is not None)
