"""HTTP/2 with servers that end connections and streams early: what httpcore makes of that is put right here.

It gives up the answers that come behind a GOAWAY, and waits for ever where a stream ends before its request has been
sent, and where a server lowers the number of streams below what is under way. Its requests take turns at reading: who
waits behind one that reads does not see what has come for it by then, an answer or leave to send more, before more
comes.
"""

from __future__ import annotations

from typing import Any

import anyio
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
import httpcore
from httpcore._async.http2 import AsyncHTTP2Connection

_HEADER_BYTES = 9  # RFC 9113, 4.1: length, type, flags, stream
_GOAWAY = 0x07


class Http2Connection(AsyncHTTP2Connection):
    """A connection that ends what is under way, and begins nothing, once the server wants to close it.

    httpcore makes its own connections by the class that it imports: :func:`improve` makes this of one.
    """

    _goaways: Goaways
    _reading: anyio.Event | None
    _takes_no_more: bool

    def is_available(self) -> bool:
        return not self._takes_no_more and super().is_available()

    async def _send_request_headers(self, request: httpcore.Request, stream_id: int) -> None:
        # It may have waited for others to end. The server would not even look at a stream that begins now.
        if self._takes_no_more:
            raise httpcore.ConnectionNotAvailable
        await super()._send_request_headers(request, stream_id)

    async def _send_request_body(self, request: httpcore.Request, stream_id: int) -> None:
        try:
            await super()._send_request_body(request, stream_id)
        except _UnwantedError:
            # The answer is there, such as a 413, and is read as any other.
            if not self._is_reset(stream_id):
                self._h2_state.reset_stream(stream_id, h2.errors.ErrorCodes.CANCEL)
                await self._write_outgoing_data(request)

    async def _send_end_stream(self, request: httpcore.Request, stream_id: int) -> None:
        if not self._is_reset(stream_id):
            await super()._send_end_stream(request, stream_id)

    async def _wait_for_outgoing_flow(self, request: httpcore.Request, stream_id: int) -> int:
        while True:
            if self._is_reset(stream_id):
                raise _UnwantedError
            flow: int = self._h2_state.local_flow_control_window(stream_id)
            if flow > 0:  # below 0 where the server has made the windows of all streams smaller
                return min(flow, self._h2_state.max_outbound_frame_size)
            if self._is_refused(stream_id):
                raise _UnwantedError
            await self._receive_events(request)

    async def _receive_response(self, request: httpcore.Request, stream_id: int) -> Any:
        try:
            return await super()._receive_response(request, stream_id)
        except httpcore.RemoteProtocolError:
            if self._goaways.leaves_out(stream_id):
                raise httpcore.ConnectionNotAvailable from None
            raise

    async def _receive_events(self, request: httpcore.Request, stream_id: int | None = None) -> None:
        if self._reading is not None:
            # Another request reads for all. Whoever calls looks again then, as nothing more may come.
            await self._reading.wait()
            return
        reading = self._reading = anyio.Event()
        try:
            await super()._receive_events(request, stream_id)
        finally:
            self._end(reading)

    def _end(self, reading: anyio.Event) -> None:
        """Let the others look at what has come, and one of them read on."""
        if self._reading is reading:
            self._reading = None
        reading.set()

    async def _read_incoming_data(self, request: httpcore.Request) -> list[h2.events.Event]:
        reading = self._reading
        assert reading is not None
        try:
            return await self._read()
        finally:
            # Not after what httpcore still does, which is to write: the server may wait for somebody who reads.
            self._end(reading)

    async def _read(self) -> list[h2.events.Event]:
        if self._read_exception is not None:
            raise self._read_exception
        last = self._goaways.last_stream_id
        try:
            data = await self._network_stream.read(self.READ_NUM_BYTES)
            if not data:
                raise httpcore.RemoteProtocolError("Server disconnected")
            events = self._h2_state.receive_data(self._goaways.taken_out(data))
        except h2.exceptions.ProtocolError as error:
            # To httpcore, which has sent nothing wrong, it would be its own fault.
            self._read_exception, self._connection_error = httpcore.RemoteProtocolError(str(error)), True
            raise self._read_exception from error
        except Exception as error:
            self._read_exception, self._connection_error = error, True
            raise
        if self._goaways.last_stream_id != last:
            self._takes_no_more = True
            events += map(_reset, filter(self._goaways.leaves_out, self._events))
        return events

    async def _receive_remote_settings_change(self, event: h2.events.RemoteSettingsChanged) -> None:
        changed = event.changed_settings.get(h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS)
        if changed is not None and changed.new_value < self._max_streams:
            self._takes_no_more = True  # the next connection begins with what is allowed now
        else:
            await super()._receive_remote_settings_change(event)

    def _is_reset(self, stream_id: int) -> bool:
        return any(isinstance(event, h2.events.StreamReset) for event in self._events[stream_id])

    def _is_refused(self, stream_id: int) -> bool:
        """Whether the whole answer is there before the whole request, and says that it is not stored.

        RFC 9113, 8.1: a server may, and need not say that it reads no more.
        """
        events = self._events[stream_id]
        statuses = [
            dict(event.headers)[b":status"] for event in events if isinstance(event, h2.events.ResponseReceived)
        ]
        return bool(statuses and statuses[0] >= b"300" and isinstance(events[-1], h2.events.StreamEnded))


class Goaways:
    """Takes GOAWAY out of what a server sends, as h2 reads nothing behind it.

    :ivar last_stream_id: of the streams that the server will end; None as long as it takes new ones
    """

    def __init__(self) -> None:
        self.last_stream_id: int | None = None
        self._held = b""
        self._left = 0

    def taken_out(self, data: bytes) -> bytes:
        """The data without GOAWAY, and without the beginning of a frame of which nothing can be told yet."""
        data, self._held = self._held + data, b""
        kept: list[bytes] = []
        start = 0
        while start < len(data):
            if not self._left:
                head = data[start : start + _HEADER_BYTES]
                length = _HEADER_BYTES + int.from_bytes(head[:3], "big")
                is_goaway = head[3:4] == bytes([_GOAWAY])
                if len(head) < _HEADER_BYTES or (is_goaway and len(data) < start + length):
                    self._held = data[start:]
                    break
                if is_goaway:
                    self._heed(data[start + _HEADER_BYTES : start + length])
                    start += length
                    continue
                self._left = length
            part = data[start : start + self._left]
            kept.append(part)
            start += len(part)
            self._left -= len(part)
        return b"".join(kept)

    def leaves_out(self, stream_id: int) -> bool:
        """Whether the server has said that it has not looked at this stream, and will not."""
        return self.last_stream_id is not None and stream_id > self.last_stream_id

    def _heed(self, payload: bytes) -> None:
        last = int.from_bytes(payload[:4], "big") & 0x7FFFFFFF
        self.last_stream_id = last if self.last_stream_id is None else min(last, self.last_stream_id)


class _UnwantedError(Exception):
    """The server wants no more of a request that has not been sent whole."""


def improve(connection: httpcore.AsyncConnectionInterface) -> None:
    """Make a connection of this module of the one of HTTP/2 that `connection` runs over, if there is one already."""
    inner: Any = getattr(connection, "_connection", None)
    if type(inner) is AsyncHTTP2Connection:
        vars(inner).update(_goaways=Goaways(), _reading=None, _takes_no_more=False)
        inner.__class__ = Http2Connection


def _reset(stream_id: int) -> h2.events.Event:
    event = object.__new__(h2.events.StreamReset)  # its constructor differs from one release of h2 to the next
    event.stream_id, event.error_code, event.remote_reset = stream_id, h2.errors.ErrorCodes.REFUSED_STREAM, True
    return event
