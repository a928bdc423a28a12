"""Who we are to the brokers, and who they are to us: TLS, SASL, tokens, and sessions that are renewed in time."""

from asyncsink_kafka.security.arguments import security_arguments
from asyncsink_kafka.security.failures import REFUSAL_CODES, authentication_refusal, why_unreachable
from asyncsink_kafka.security.renewal import keep_authenticated

__all__ = [
    "REFUSAL_CODES",
    "authentication_refusal",
    "keep_authenticated",
    "security_arguments",
    "why_unreachable",
]
