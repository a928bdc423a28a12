"""Credentials from every place that AWS' clients know, renewed ahead of their expiry.

Importing it loads botocore.
"""

from asyncsink_aws.credentials.current import CurrentCredentials, renew_when_expired
from asyncsink_aws.credentials.sources import loader_of

__all__ = ["CurrentCredentials", "loader_of", "renew_when_expired"]
