"""Line plots as SVG text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LEFT, BOTTOM, TOP = 52, 18, 6


@dataclass(frozen=True, slots=True)
class Line:
    """One series: a colour, and a value for each time."""

    colour: str
    values: Sequence[float]


def plot(
    lines: Sequence[Line], times: Sequence[float], top: float, unit: str, *, width: int = 400, height: int = 170
) -> str:
    """Lines over time, from 0 to `top`; what lies above is cut off at the frame."""
    wide, high = width - LEFT - 6, height - BOTTOM - TOP
    last_s = max(times, default=1.0)

    def place(at_s: float, value: float) -> str:
        x, y = LEFT + wide * at_s / last_s, TOP + high * (1 - min(1.0, max(0.0, value / top)))
        return f"{x:.1f},{y:.1f}"

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-size="10" fill="#555">']
    parts.append(f'<rect x="{LEFT}" y="{TOP}" width="{wide}" height="{high}" fill="none" stroke="#ccc"/>')
    for share in (0.0, 0.5, 1.0):
        y = TOP + high * (1 - share)
        parts.append(f'<text x="{LEFT - 4}" y="{y + 4:.1f}" text-anchor="end">{_short(top * share)}</text>')
    for at_s in range(0, int(last_s) + 1, 10):
        x = LEFT + wide * at_s / last_s
        parts.append(f'<text x="{x:.1f}" y="{height - 5}" text-anchor="middle">{at_s}</text>')
    parts.append(f'<text x="{LEFT + 4}" y="{TOP + 11}">{unit}</text>')
    for line in lines:
        points = " ".join(place(at_s, value) for at_s, value in zip(times, line.values, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{line.colour}" stroke-width="1.2"/>')
    return "".join([*parts, "</svg>"])


def _short(value: float) -> str:
    return f"{value / 1000:.4g} k" if value >= 1000 else f"{value:.3g}"
