from __future__ import annotations

from pathlib import Path

import pytest

import hygiene


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a", "does not end with a line end"),
        ("a\n\n", "ends with an empty line"),
        ("a \nb\n", "line 1 ends with white space"),
        ("a\r\n", "line 1 ends with white space or a carriage return"),
        ("a\n<<<<<<< ours\n", "line 2 is left over from a merge"),
    ],
)
def test_a_fault_in_a_text_is_told(text: str, fault: str) -> None:
    assert [fault in told for told in hygiene.text_faults(text)] == [True]


@pytest.mark.parametrize("name", ["123.md", "retry.bugfix.md", "Retry.fix.md"])
def test_a_fragment_has_a_slug_and_a_known_type(name: str, tmp_path: Path) -> None:
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / name).write_text("Text.\n")
    assert ["is no fragment's name" in told for told in hygiene.faults(tmp_path / "changes" / name, tmp_path)] == [True]


def test_every_distribution_carries_the_licence_of_the_root(tmp_path: Path) -> None:
    (tmp_path / "LICENSE").write_text("Apache\n")
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "LICENSE").write_text("Another\n")
    assert list(hygiene.faults(tmp_path / "core" / "LICENSE", tmp_path)) == [
        "differs from the LICENSE at the root; copy that one"
    ]


def test_a_large_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(b"\0" * (hygiene.LARGEST_FILE + 1))
    assert ["at most" in told for told in hygiene.faults(tmp_path / "data.bin", tmp_path)] == [True]


def test_a_clean_text_has_no_fault() -> None:
    assert list(hygiene.text_faults("a\n\nb\n")) == []
    assert list(hygiene.text_faults("")) == []
