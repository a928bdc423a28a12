"""Files through Spark to S3, whose credentials are in the environment of its processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from asyncsink_files import read_manifest

from .test_doors import ROWS, Write, by_write, by_write_stream


@pytest.mark.parametrize("write", [by_write, by_write_stream])
def test_the_same_rows_are_shown_and_listed_once(
    spark: SparkSession, tmp_path: Path, bucket: Any, write: Write
) -> None:
    write(spark, bucket.url, {"fileFormat": "json"}, tmp_path)
    names = [name for name in bucket.objects() if name[0] != "_"]
    assert names == sorted(file.path.removeprefix(f"{bucket.url}/") for file in read_manifest(bucket.url))
    rows = [json.loads(line) for name in names for line in bucket.read(name).splitlines()]
    assert sorted(rows, key=lambda row: int(row["id"])) == ROWS
    assert bucket.uploads() == []
