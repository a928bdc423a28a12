"""The check: what stands in all clusters together, against the source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from audit import Audit


def compare(lines: Sequence[str], stored: Iterable[bytes | None]) -> Audit:
    """Holds every stored value against the line of the source that has its row number."""
    seen = bytearray(len(lines))
    arrived = different = 0
    for value in stored:
        arrived += 1
        line = (value or b"").decode(errors="replace")
        number = line.partition(",")[0]
        if number.isdecimal() and int(number) < len(lines) and line == lines[int(number)]:
            seen[int(number)] = 1
        else:
            different += 1
    distinct = sum(seen)
    return Audit(sent=len(lines), distinct=distinct, duplicates=arrived - different - distinct, different=different)
