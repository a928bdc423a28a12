"""What must hold for bytes that outlive the program that wrote them, whatever they are of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from asyncsink.serializer import SimpleVersionedSerializer
from asyncsink_testing.conformance.trial import Row, Trial


@dataclass(frozen=True, slots=True)
class Kept:
    """A value with its bytes and what made them.

    :param whole: whether the bytes must tell that some are missing; those of an entry lie within a state's
    """

    name: str
    value: Any
    data: bytes
    serializer: SimpleVersionedSerializer[Any]
    whole: bool

    def __str__(self) -> str:
        return f"{self.name} by {type(self.serializer).__name__}"


def kept_of(
    trial: Trial, name: str, value: Any, serializer: SimpleVersionedSerializer[Any], *, whole: bool = True
) -> Kept:
    """A value and its bytes.

    :raises ConformanceError: the serializer gives something else
    """
    data: object = serializer.serialize(value)
    if not isinstance(data, bytes):
        trial.fail(f"{type(serializer).__name__}.serialize gave a {type(data).__name__}; it has to give bytes")
    return Kept(name, value, data, serializer, whole)


def rows_of_all_kinds(trial: Trial) -> list[Row]:
    """Rows whose texts and keys hold what a serializer may not know."""
    texts = ("", "plain", "ümläut ✓ 漢字 🦜 \x00 \n")
    rows = [trial.rows(1, first=number, text=text)[0] for number, text in enumerate(texts)]
    rows[-1]["key"] = "schlüssel-鍵"
    return rows


def check_round_trip(trial: Trial, values: Iterable[Kept]) -> None:
    """What went to bytes and back equals what it was.

    :raises ConformanceError: it does not
    """
    for each in values:
        again = each.serializer.deserialize(each.serializer.version, each.data)
        if again != each.value:
            trial.fail(
                f"{each} came back changed: look for a field that serialize leaves out or deserialize does not read, "
                "and see that values with the same fields are equal"
            )


def check_unknown_version(trial: Trial, values: Iterable[Kept]) -> None:
    """Bytes of a later version are refused by a ValueError that names it.

    :raises ConformanceError: they are not
    """
    for each in values:
        for version in (each.serializer.version + 1, each.serializer.version + 1_000):
            refusal = _read(trial, each, version, each.data, f"in version {version}")
            if not isinstance(refusal, ValueError):
                trial.fail(f"{each} was read in version {version}, which is unknown; check the version in deserialize")
            if str(version) not in str(refusal):
                trial.fail(f"the error for {each} in version {version} must name the version; it says: {refusal}")


def check_truncated(trial: Trial, values: Iterable[Kept]) -> None:
    """Bytes that were cut short or changed raise ValueError, or lose nothing.

    :raises ConformanceError: they are read as less, or something else is raised
    """
    for each in values:
        version = each.serializer.version
        for end in range(len(each.data)):
            how = f"of which {end} of {len(each.data)} bytes are left"
            value = _read(trial, each, version, each.data[:end], how)
            if each.whole and not isinstance(value, ValueError):
                trial.fail(
                    f"{each} was read from {end} of its {len(each.data)} bytes without an error: what is missing is "
                    "lost without a word. Compare lengths with what is there, and the number of entries with those read"
                )
        _damage(trial, each)


def _damage(trial: Trial, kept: Kept) -> None:
    """Change each byte in turn: a length among them may not lose entries."""
    version, data = kept.serializer.version, kept.data
    count = _count(_read(trial, kept, version, data, "as it was written"))
    for at in range(len(data)):
        for changed in {data[at] ^ 0x80, data[at] ^ 0x01, 0xFF} - {data[at]}:
            how = f"whose byte {at} is changed"
            value = _read(trial, kept, version, data[:at] + bytes([changed]) + data[at + 1 :], how)
            if not isinstance(value, ValueError) and _count(value) < count:
                trial.fail(
                    f"{kept}, {how}, was read as {_count(value)} of {count} entries without an error. Compare lengths "
                    "with what is there, and the number of entries with those read"
                )


def _count(state: Any) -> int:
    return len(getattr(state, "entries", ()))


def _read(trial: Trial, kept: Kept, version: int, data: bytes, how: str) -> Any:
    """What some bytes are read as, or the ValueError by which they are refused."""
    try:
        return kept.serializer.deserialize(version, data)
    except ValueError as error:
        return error
    except Exception as error:
        trial.fail(
            f"{kept}, {how}, raised {type(error).__name__}: {error}. Damaged bytes must raise ValueError, so that "
            "whoever restores can tell them from a bug"
        )
