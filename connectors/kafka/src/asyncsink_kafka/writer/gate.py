"""When the next record batch may go: the rate limit, and the time for which brokers ask to be left alone."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.limits.limiter import Limiter, LimiterCache
from asyncsink.limits.strategy import RequestInfo, ResultInfo


class Gate:
    """The kernel's limiter before a producer; a request of the rate limit is a record batch.

    All writers of one destination in a process share it.
    """

    def __init__(self, limiters: LimiterCache, config: AsyncSinkWriterConfig, clock: Callable[[], float]) -> None:
        self.limiter: Limiter = limiters.limiter(None, config)
        self._most, self._cap_s, self._clock = config.max_batch_size, config.retry.retry_after_cap_s, clock
        self._throttle_s = 0.0

    def open(self) -> None:
        self.limiter.join(self._plan, lambda limiter: None)

    def close(self) -> None:
        self.limiter.leave(self._plan)

    def _plan(self) -> None:
        """What names this writer to the limiter; batches that wait have wakes of their own."""

    @property
    def batch_limit(self) -> int:
        """Records that the next batch may hold."""
        return self.limiter.batch_limit(self._most)

    def throttle(self, throttle_s: float) -> None:
        """A broker's answer says for how long it wants to see no request (KIP-219); what it answered is stored."""
        self._throttle_s = throttle_s
        if throttle_s > 0:
            until_s = self._clock() + min(throttle_s, self._cap_s)
            self.limiter.not_before_s = max(self.limiter.not_before_s, until_s)

    async def enter(self, records: int, size_in_bytes: int) -> RequestInfo:
        """Wait until a batch may go; what is returned is to be given back to :meth:`leave`.

        :raises FatalRequestError: a strategy of the user's own has raised
        """
        limiter = self.limiter
        while not limiter.admits(info := RequestInfo(records, size_in_bytes, self._clock())):
            wake = anyio.Event()
            limiter.wait(wake.set)
            try:
                with anyio.CancelScope(deadline=self._deadline_s(info.now_s)):
                    await wake.wait()
            finally:
                limiter.waiting.pop(wake.set, None)
        limiter.start(info)
        return info

    def _deadline_s(self, now_s: float) -> float:
        return anyio.current_time() + self.limiter.unblocked_s(now_s) - now_s

    def backoff_s(self, failures: int) -> float:
        """How long to wait after so many failures of a batch, by the kernel's own jitter."""
        return self.limiter.jitter_s(failures)

    def leave(self, info: RequestInfo, *, stored: bool) -> None:
        """A batch has ended, in whatever way."""
        throttled = info.batch_size if self._throttle_s > 0 else 0
        self.limiter.end(
            ResultInfo(
                batch_size=info.batch_size,
                size_in_bytes=info.size_in_bytes,
                failed=0 if stored else info.batch_size,
                throttled=throttled,
                request_start_s=info.now_s,
                now_s=self._clock(),
                retry_after_s=self._throttle_s or None,
            )
        )
        self.limiter.wake(self._plan)
