"""What the tests of dead letters share: letters of any shape, and virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from hypothesis import strategies as st

from asyncsink import WriterInitContext
from asyncsink.dead_letters import DeadLetter, DeadLetterFiles, DeadLetterReason, DeadLetterWriter

CONTEXT = WriterInitContext(writer_id=3, attempt=1, query_id="q", batch_id=7)


def letter(name: object = 0, **changes: Any) -> DeadLetter:
    """A letter that its idempotency id tells apart."""
    values: dict[str, Any] = {
        "reason": DeadLetterReason.REJECTED,
        "code": "400",
        "message": "no such field",
        "entry": b"payload",
        "entry_version": 1,
        "idempotency_id": f"q/7/3/{name}",
        "attempts": 1,
        "first_failed_at": 1_700_000_000_000,
        "last_failed_at": 1_700_000_000_001,
        "connector": "package.Sink",
    }
    return DeadLetter(**(values | changes))


def letters(first: int, last: int) -> list[DeadLetter]:
    return [letter(name) for name in range(first, last + 1)]


def names(stored: list[DeadLetter]) -> list[int]:
    return [int((each.idempotency_id or "").rpartition("/")[2]) for each in stored]


any_text = st.text(st.characters(), max_size=30)  # surrogates are among them
any_letter = st.builds(
    letter,
    reason=st.sampled_from(DeadLetterReason),
    code=any_text,
    message=any_text,
    entry=st.none() | st.binary(max_size=100),
    entry_version=st.none() | st.integers(0, 2**31 - 1),
    element=st.none() | any_text,
    idempotency_id=st.none() | any_text,
    attempts=st.integers(0, 1000),
    first_failed_at=st.integers(0, 2**53),
    last_failed_at=st.integers(0, 2**53),
    connector=any_text,
    route=st.none() | any_text,
    query_id=st.none() | any_text,
    batch_id=st.none() | st.integers(0, 2**53),
    writer_id=st.integers(0, 10_000),
    attempt=st.integers(0, 100),
)


@asynccontextmanager
async def opened(path: Path | str, format: Any = "jsonl", **changes: Any) -> AsyncIterator[DeadLetterWriter]:
    async with DeadLetterFiles(path, format, **changes).open(CONTEXT) as writer:
        yield writer


def store(path: Path | str, stored: list[DeadLetter], format: Any = "jsonl") -> None:
    """Write letters as one writer, in one write."""

    async def main() -> None:
        async with opened(path, format) as writer:
            await writer.write(stored)

    anyio.run(main)
