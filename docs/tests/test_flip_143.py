"""The page on FLIP-143 has every member of the FLIP, and names nothing of ours that there is not."""

from __future__ import annotations

import re
from operator import attrgetter
from pathlib import Path

import pytest

import asyncsink

PAGE = (Path(__file__).resolve().parents[1] / "reference" / "flip-143.md").read_text()
MEMBERS = {
    "Sink": (
        "createWriter",
        "createCommitter",
        "createGlobalCommitter",
        "getCommittableSerializer",
        "getGlobalCommittableSerializer",
        "getWriterStateSerializer",
    ),
    "InitContext": ("getProcessingTimeService", "getSubtaskId", "metricGroup"),
    "ProcessingTimeService": ("getCurrentProcessingTime", "registerProcessingTimer"),
    "ProcessingTimeCallback": ("onProcessingTime",),
    # Those that extend AutoCloseable have close, too.
    "SinkWriter": ("write", "prepareCommit", "snapshotState", "close"),
    "Context": ("currentWatermark", "timestamp"),
    "Committer": ("commit", "close"),
    "GlobalCommitter": ("filterRecoveredCommittables", "combine", "commit", "endOfInput", "close"),
    "SimpleVersionedSerializer": (),
}
"""Every interface of the FLIP, with what it declares."""


def rows() -> dict[str, list[str]]:
    """The tables of four columns: the FLIP's member, and our names for it."""
    lines = re.findall(r"^\| `([\w.]+)` \| .+? \| (.+?) \| .*\|$", PAGE, re.MULTILINE)
    return {member: re.findall(r"`([\w.]+)`", ours) for member, ours in lines}


def test_every_member_of_the_flip_is_in_a_table_and_nothing_else() -> None:
    members = {f"{interface}.{member}" for interface, declared in MEMBERS.items() for member in declared}
    assert rows().keys() == members | MEMBERS.keys()


@pytest.mark.parametrize(("member", "ours"), rows().items())
def test_what_a_member_is_called_here_exists(member: str, ours: list[str]) -> None:
    assert ours, f"{member} has no name of ours"
    for name in ours:
        assert name.partition(".")[0] in asyncsink.__all__
        attrgetter(name)(asyncsink)


def test_what_flink_does_not_have_exists() -> None:
    section = PAGE.partition("## What Flink does not have")[2].partition("\n## ")[0]
    names = re.findall(r"^\| `([\w.]+)` \|", section, re.MULTILINE)
    assert {"Sweeper.abort", "Sweeper.sweep", "LostCommittablesError"} <= {*names}
    for name in names:
        attrgetter(name)(asyncsink)
