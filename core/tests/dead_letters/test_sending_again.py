"""Letters made into entries, and sent again by the real writer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from asyncsink import BytesSerializer
from asyncsink.dead_letters import (
    DeadLetterMaker,
    DeadLetterReason,
    as_state,
    entries_of,
    read_dead_letters,
)
from asyncsink.errors import ConfigurationError, DeadLetterError
from asyncsink_testing import FakeDestination, FakeSink
from asyncsink_testing.virtual_time import virtual

from .letters import CONTEXT, store


class KeptSink(FakeSink):
    """A fake sink whose entries are bytes that can be kept."""

    entry_serializer = BytesSerializer()


def kept(entries: list[bytes], folder: Path, format: str = "jsonl") -> None:
    maker = DeadLetterMaker(KeptSink(FakeDestination()), CONTEXT, "q/7/3/")
    store(
        folder,
        [maker.of_entry(each, DeadLetterReason.REJECTED, "400", "", sequence=n) for n, each in enumerate(entries)],
        format,
    )


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_dead_letters_are_sent_again_by_a_writer_that_starts_from_them(tmp_path: Path, format: str) -> None:
    kept([b"one", b"\x00\xff", b""], tmp_path, format)

    @virtual
    async def send() -> None:
        destination = FakeDestination()
        sink = KeptSink(destination)
        state = as_state(read_dead_letters(tmp_path), sink)
        async with sink.open(states=[state]) as writer:
            await writer.flush(end_of_input=True)
        assert destination.stored == [b"one", b"\x00\xff", b""]

    send()


def test_a_state_has_the_sizes_that_the_sink_measures(tmp_path: Path) -> None:
    kept([b"one", b"three"], tmp_path)
    sink = KeptSink(FakeDestination())
    state = as_state(read_dead_letters(tmp_path), sink)
    assert state.entries == (b"one", b"three")
    assert state.sizes == tuple(sink.sizes([b"one", b"three"]))


def test_no_letters_are_an_empty_state() -> None:
    assert as_state([], KeptSink(FakeDestination())).entries == ()


def test_an_element_is_no_entry_and_nothing_is_left_out_silently() -> None:
    sink = KeptSink(FakeDestination())
    element = DeadLetterMaker(sink, CONTEXT, "q/7/3/").of_element({"a": 1}, "KeyError", "no body", sequence=4)
    with pytest.raises(
        DeadLetterError, match=r"q/7/3/4 .conversion, KeyError. holds an element and no entry; take only"
    ):
        entries_of([element], sink)


def test_letters_of_another_sink_are_refused() -> None:
    class Other(KeptSink):
        pass

    made = DeadLetterMaker(Other(FakeDestination()), CONTEXT, "").of_entry(b"a", DeadLetterReason.REJECTED, "", "")
    with pytest.raises(DeadLetterError, match=r"is of .*Other, not of .*KeptSink; give the sink"):
        entries_of([made], KeptSink(FakeDestination()))


def test_an_entry_of_an_unknown_version_is_refused() -> None:
    sink = KeptSink(FakeDestination())
    made = DeadLetterMaker(sink, CONTEXT, "p/").of_entry(b"a", DeadLetterReason.REJECTED, "", "", sequence=0)
    with pytest.raises(DeadLetterError, match=r"p/0 cannot be read: BytesSerializer reads version 1, but .* version 9"):
        entries_of([replace(made, entry_version=9)], sink)


def test_a_sink_without_a_serializer_is_told_so() -> None:
    with pytest.raises(ConfigurationError, match=r"FakeSink has no entry_serializer, .* give it one"):
        entries_of([], FakeSink(FakeDestination()))
