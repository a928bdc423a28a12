"""What a user may say of an AWS service: where it is, who asks, by what connection."""

from asyncsink_aws.options.aws_options import AwsOptions

__all__ = ["AwsOptions"]
