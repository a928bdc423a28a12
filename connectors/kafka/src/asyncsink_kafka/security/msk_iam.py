"""Tokens of IAM for Amazon MSK: a presigned URL, which the brokers take as an OAUTHBEARER token.

The form is that of Amazon's own signers: a request for ``kafka-cluster:Connect`` to the region's endpoint, signed by
Signature Version 4 in the query for 900 seconds, with a user agent behind it, in URL-safe base64 without padding.
https://docs.aws.amazon.com/msk/latest/developerguide/configure-clients-for-iam-access-control.html
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlsplit

import anyio.to_thread

from asyncsink.errors import ConfigurationError
from asyncsink_kafka.security.tokens import Token, TokenRefusedError, TokenUnavailableError

if TYPE_CHECKING:
    from botocore.session import Session

try:
    import botocore.session
    from botocore.auth import SigV4QueryAuth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials
    from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, ProfileNotFound
    from botocore.exceptions import ConnectionError as AwsConnectionError
except ImportError as error:
    raise ConfigurationError(
        f"saslMechanism = AWS_MSK_IAM needs botocore, which does not import ({error}); install it where the writers "
        "run: pip install 'asyncsink-kafka[msk-iam]'"
    ) from error

TOKEN_LIFETIME_S = 900
"""The longest that MSK takes."""

DEFAULT_ROLE_SESSION_NAME = "asyncsink"

_USER_AGENT = "asyncsink-kafka"

# Brokers are named like b-1.demo.a1b2c3.c2.kafka.eu-west-1.amazonaws.com, and boot-a1b2c3.c1.kafka-serverless....
_MSK_HOST = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?(?:[:,]|$)")

# What STS answers while it is in trouble; everything else it says is about who asks.
_LATER = frozenset(
    ("InternalFailure", "RequestLimitExceeded", "ServiceUnavailable", "Throttling", "ThrottlingException")
)


@dataclass(frozen=True, slots=True)
class MskIam:
    """Where the credentials come from that sign tokens.

    :param profile: of the shared configuration; None: the default chain of providers
    :param role_arn: a role to assume with these credentials
    :param external_id: what the role's owner asks for, if he does
    """

    region: str
    profile: str | None = None
    role_arn: str | None = None
    role_session_name: str | None = None
    external_id: str | None = None

    async def fetch(self) -> Token:
        """A token of 900 seconds; made in a thread, because credentials may come over the network.

        :raises TokenUnavailableError: AWS cannot be reached or is in trouble
        :raises TokenRefusedError: there are no credentials, or the role may not be assumed with them
        """
        return await anyio.to_thread.run_sync(self._fetch, abandon_on_cancel=True)

    def _fetch(self) -> Token:
        try:
            return signed_token(self.region, self._credentials(botocore.session.Session(profile=self.profile)))
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            if code in _LATER or status >= 500:
                raise TokenUnavailableError(f"AWS STS assumes no role now: {error}") from error
            raise TokenRefusedError(
                f"AWS STS does not let the credentials assume the role {self.role_arn!r}: {error}; check "
                "awsRoleArn, awsExternalId, the role's trust policy and the permission sts:AssumeRole"
            ) from error
        except (AwsConnectionError, HTTPClientError) as error:
            raise TokenUnavailableError(f"AWS does not answer: {error}") from error
        except BotoCoreError as error:
            raise TokenRefusedError(f"no AWS credentials to sign with: {error}; {self._remedy}") from error

    def _credentials(self, session: Session) -> Credentials:
        found = session.get_credentials()
        if found is None:
            raise TokenRefusedError(f"no AWS credentials are found; {self._remedy}")
        if self.role_arn is None:
            frozen = found.get_frozen_credentials()
            return Credentials(frozen.access_key, frozen.secret_key, frozen.token)
        role = {
            "RoleArn": self.role_arn,
            "RoleSessionName": self.role_session_name or DEFAULT_ROLE_SESSION_NAME,
            **({"ExternalId": self.external_id} if self.external_id else {}),
        }
        sts: Any = session.create_client("sts", region_name=self.region)
        assumed = sts.assume_role(**role)["Credentials"]
        return Credentials(assumed["AccessKeyId"], assumed["SecretAccessKey"], assumed["SessionToken"])

    @property
    def _remedy(self) -> str:
        if self.profile is not None:
            return f"check option 'awsProfile' = {self.profile!r} where the writers run"
        return "give the writers' machines a role, environment variables or a profile (option 'awsProfile')"


def signed_token(region: str, credentials: Credentials) -> Token:
    """The token for brokers of `region`, signed now."""
    request = AWSRequest(
        method="GET", url=f"https://kafka.{region}.amazonaws.com/", params={"Action": "kafka-cluster:Connect"}
    )
    SigV4QueryAuth(credentials, "kafka-cluster", region, expires=TOKEN_LIFETIME_S).add_auth(request)
    # Not signed, as Amazon's signers have it: it only shows in the brokers' logs.
    url = f"{request.url}&User-Agent={quote(_USER_AGENT, safe='')}"
    signed_at = datetime.strptime(parse_qs(urlsplit(url).query)["X-Amz-Date"][0], "%Y%m%dT%H%M%SZ")
    expires_at = signed_at.replace(tzinfo=UTC).timestamp() + TOKEN_LIFETIME_S
    return Token(base64.urlsafe_b64encode(url.encode()).decode().rstrip("="), expires_at)


def region_of(bootstrap_servers: str, given: str | None, profile: str | None = None) -> str:
    """The region to sign for: the one `given`, else that in the brokers' names, else AWS' own configuration.

    :raises ConfigurationError: none of them says
    """
    if given:
        return given
    if found := _MSK_HOST.search(bootstrap_servers):
        return found.group(1)
    try:
        configured = botocore.session.Session(profile=profile).get_config_variable("region")
    except ProfileNotFound as error:
        raise ConfigurationError(f"option 'awsProfile': {error}; check its name where the writers run") from error
    if not configured:
        raise ConfigurationError(
            f"saslMechanism = AWS_MSK_IAM: no region in the names of the brokers ({bootstrap_servers}), nor in AWS' "
            "configuration; set option 'awsRegion', such as eu-west-1"
        )
    return str(configured)
