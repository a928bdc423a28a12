"""The distribution: what it exports, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import asyncsink_aws

HEAVY = {"aiobotocore", "aiohttp", "botocore", "boto3", "msgspec", "numpy", "pandas", "pyarrow", "pyspark"}


def imported_by(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(' '.join({HEAVY} & set(sys.modules)))"
    command = [sys.executable, "-c", script]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_public_names_are_sorted_and_exist() -> None:
    assert asyncsink_aws.__all__ == sorted(asyncsink_aws.__all__)
    assert {name: getattr(asyncsink_aws, name).__name__ for name in asyncsink_aws.__all__} == {
        "AwsKeys": "AwsKeys",
        "AwsOptions": "AwsOptions",
    }
    assert set(asyncsink_aws.__all__) <= set(dir(asyncsink_aws))
    assert asyncsink_aws.__version__
    with pytest.raises(AttributeError, match="no attribute 'Options'"):
        asyncsink_aws.Options  # noqa: B018


@pytest.mark.parametrize(
    "code",
    [
        "import asyncsink_aws",
        "from asyncsink_aws.options import AwsOptions; AwsOptions.from_options({'aws.region': 'eu-west-1'})",
        "from asyncsink_aws.arn import parse_stream; parse_stream('clicks', 'kinesis')",
        "from asyncsink_aws import AwsKeys; AwsKeys('a', 'b')",
    ],
)
def test_nothing_heavy_is_imported_before_there_is_a_client(code: str) -> None:
    # `from asyncsink_aws import AwsKeys` must not import the package of credentials, which loads botocore.
    assert imported_by(code) == set()


def test_keys_show_no_secret() -> None:
    shown = repr(asyncsink_aws.AwsKeys("AKIA", "s3cret", "s3cret-token", 12.0))
    assert shown == "AwsKeys(access_key_id='AKIA', expires_at=12.0)"
