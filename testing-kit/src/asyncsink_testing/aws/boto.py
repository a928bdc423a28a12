"""boto3, by which tests look into a service without the connector's client. It is no dependency of the kit."""

from __future__ import annotations

from typing import Any

from asyncsink_testing.aws.unavailable import AwsUnavailable

ACCESS_KEY_ID, SECRET_ACCESS_KEY = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
"""Those of AWS's own examples; nobody has them."""


def boto_client(service: str, endpoint: str, region: str) -> Any:
    """A client of boto3's with the keys of AWS's examples.

    :raises AwsUnavailable: boto3 is not installed
    """
    try:
        import boto3
        from botocore.config import Config
    except ImportError:
        raise AwsUnavailable("boto3 is not installed, by which tests read what is stored: pip install boto3") from None
    return boto3.client(
        service,
        region_name=region,
        endpoint_url=endpoint,
        aws_access_key_id=ACCESS_KEY_ID,
        aws_secret_access_key=SECRET_ACCESS_KEY,
        # Else S3 wants each bucket to be a host.
        config=Config(s3={"addressing_style": "path"}) if service == "s3" else None,
    )
