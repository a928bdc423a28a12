"""Runs on S3 that are killed at any point: each element once, and nothing is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from asyncsink_testing.s3_server import S3

from .killing_s3 import S3Trial
from .s3 import Bucket

CALLS = {"create_multipart_upload", "upload_part", "complete_multipart_upload"}


def trial(s3: S3, folder: Path) -> S3Trial:
    """Its files have two parts each."""
    return S3Trial(folder, {"max_file_size": 100}, Bucket(s3))


def kind_of(point: str) -> str:
    return point.split(" ")[1]


@pytest.mark.timeout(600)
def test_a_run_that_is_killed_at_any_point_is_finished_by_the_next(s3: S3, tmp_path: Path) -> None:
    passed = trial(s3, tmp_path / "whole").attempt()
    assert {*map(kind_of, passed)} >= {*CALLS, "creating"}
    for kill_at in range(len(passed)):
        killed = trial(s3, tmp_path / str(kill_at))
        assert len(killed.attempt(kill_at)) == kill_at
        killed.attempt()
        killed.check()
        killed.bucket.client.close()


def test_so_is_one_whose_successor_is_killed_while_it_sweeps(s3: S3, tmp_path: Path) -> None:
    first_part = [*map(kind_of, trial(s3, tmp_path / "whole").attempt())].index("upload_part") + 1
    looked_at = trial(s3, tmp_path / "looked at")
    looked_at.attempt(first_part)
    sweep = [number for number, point in enumerate(looked_at.attempt()) if kind_of(point) == "abort_multipart_upload"]
    assert len(sweep) == 2
    for number in sweep:
        killed = trial(s3, tmp_path / str(number))
        killed.attempt(first_part)
        killed.attempt(number)
        killed.attempt()
        killed.check()
        killed.bucket.client.close()
