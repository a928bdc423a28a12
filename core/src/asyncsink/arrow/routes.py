"""Routes as arrays: an index per entry, checked once and sorted into groups without an object per entry."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncsink.blocks import Routes

Indices = npt.NDArray[Any]
ArrayRoutes = tuple[Sequence[Hashable], Indices]
"""The distinct routes of a block, and an array with the index of each entry's own among them."""


def checked(routes: Routes | ArrayRoutes, count: int) -> ArrayRoutes:
    """The routes of `count` entries with the smallest indices that hold them.

    :raises ValueError: there is not one for each entry, or an index names no route
    """
    distinct, indices = routes[0], np.asarray(routes[1])
    if len(indices) != count:
        raise ValueError(f"a block of {count} entries was given {len(indices)} routes; give one for each")
    if count and not (indices.dtype.kind in "iu" and indices.min() >= 0 and indices.max() < len(distinct)):
        raise ValueError(
            f"the routes of a block must be indices of its {len(distinct)} distinct routes; "
            f"there are {indices.dtype} values from {indices.min()} to {indices.max()}"
        )
    return distinct, indices.astype(np.min_scalar_type(len(distinct)), copy=False)


def grouped(indices: Indices, routes: int) -> list[tuple[int, npt.NDArray[np.int64]]]:
    """Each route that occurs, in order of first appearance, with the places where it does, in order."""
    # Stable, and of indices of at most 16 bits a radix sort: 2 ns an entry.
    order = np.argsort(indices, kind="stable")
    ends = np.cumsum(np.bincount(indices, minlength=routes)).tolist()
    starts = [0, *ends]
    found = [(route, order[starts[route] : end]) for route, end in enumerate(ends) if end > starts[route]]
    return sorted(found, key=lambda each: each[1].item(0))
