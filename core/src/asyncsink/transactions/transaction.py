"""Which attempt at a batch a writer works for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Transaction:
    """One attempt at a batch, under which writers prepare what is committed together.

    Names of what a writer leaves at the destination are made of `sink_id`, `generation`, its partition and its attempt:
    so they are never used twice, and what dead attempts have left can be told from what others have put there.

    :param sink_id: a random name of the log, 16 hexadecimal digits, made once for all that is ever committed by it
    :param generation: counts the attempts of this log, from 1
    :param run: counts the attempts that were begun after one that was not finished, from 0. A destination that keeps
        the names of transactions can use a few of them again, by this number, and stay out of a zombie's way
    """

    sink_id: str
    generation: int
    run: int = 0
