"""boto3 as the tests of the fakes use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

KEY, SECRET = "AKIDEXAMPLE", "a secret"
SECRETS = {KEY: SECRET}


def client(service: str, endpoint: str, *, region: str = "us-east-1", key: str = KEY, secret: str = SECRET) -> Any:
    """One that asks once and checks no parameter: what is wrong is for the service to say."""
    return boto3.client(
        service,
        region_name=region,
        endpoint_url=endpoint,
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        config=Config(retries={"total_max_attempts": 1}, read_timeout=20, parameter_validation=False),
    )


def put(sender: Any, *records: bytes, key: str = "k", **more: str) -> dict[str, Any]:
    entries = [{"Data": each, "PartitionKey": key, **more} for each in records]
    return cast(dict[str, Any], sender.put_records(StreamName="rows", Records=entries))


def put_batch(sender: Any, *records: bytes) -> dict[str, Any]:
    entries = [{"Data": each} for each in records]
    return cast(dict[str, Any], sender.put_record_batch(DeliveryStreamName="rows", Records=entries))


def refusal_of(call: Callable[[], object]) -> tuple[str, str]:
    """The code and the sentence by which a call is refused."""
    with pytest.raises(ClientError) as caught:
        call()
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]
