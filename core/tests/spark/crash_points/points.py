"""Points outside of all processes, at which a test holds what a process has sent."""

from __future__ import annotations

from asyncsink_testing.crash_points.drivers import PATIENCE_S, Driver
from asyncsink_testing.s3_server import HeldRequest


class UnderWay:
    """A request to S3 that has left its process, and arrives when the test wants that."""

    def __init__(self, request: HeldRequest) -> None:
        self._request = request

    def reached(self, driver: Driver) -> None:
        """Wait until it is sent."""
        assert self._request.wait_for(PATIENCE_S), f"no request was sent: {driver.tail()}"

    def resume(self) -> int:
        """Let it arrive; the HTTP status that it is answered."""
        return self._request.admit(PATIENCE_S)
