"""Names of cipher suites: Java uses those of the standard (IANA), OpenSSL has its own for TLS 1.2."""

from __future__ import annotations

import re

TLS_1_3_SUITES = frozenset(("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"))
"""What OpenSSL speaks of TLS 1.3. Python before 3.15 cannot choose among them."""


def openssl_name(name: str) -> str:
    """OpenSSL's name for a suite of TLS 1.2 that is named as Java does; any other name stays as it is.

    ``TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`` is ``ECDHE-RSA-AES128-GCM-SHA256``.
    """
    exchange, found, cipher = name.removeprefix("TLS_").partition("_WITH_")
    if not found:
        return name
    cipher = re.sub(r"^(AES|CAMELLIA|ARIA)_(\d+)", r"\1\2", cipher)
    cipher = cipher.replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305").replace("_CBC_", "_")
    # An exchange of keys by RSA alone has no name.
    parts = [*([] if exchange == "RSA" else [exchange]), cipher]
    return "-".join(parts).replace("_", "-")
