"""Who repeats a request: the writer, and nobody else; of the group ``faults``."""

from __future__ import annotations

from asyncsink_testing.conformance.check import NotApplicableError, check
from asyncsink_testing.conformance.trial import Trial
from asyncsink_testing.faults import Fault

_FAULTS = (Fault.DISCONNECTED, Fault.ANSWER_LOST, Fault.ANSWER_CUT, Fault.REFUSED, Fault.THROTTLED)


@check("writer-alone-retries", group="faults", since="0.1", one_of=_FAULTS, sees_requests=True)
async def writer_alone_retries(trial: Trial) -> None:
    """No more requests arrive than the writer has sent: what fails is repeated by the writer and by nobody else.

    Connections break, answers are lost, and the service refuses and throttles. A client library that repeats requests
    by itself, as many do unless they are told not to, hides throttles from the rate limit, waits by its own rules, and
    doubles what the writer repeats as well. Switch its retries off; and make one request of one
    ``submit_request_entries``.
    """
    for fault in _FAULTS:
        if fault not in trial.destination.supported:
            continue
        async with trial.fresh() as fresh:
            delivery = await fresh.deliver(fresh.rows(2 * fresh.batch), [fault, fault, Fault.OK, fault])
            counts = delivery.writer and delivery.writer.statistics()
            if counts is None:
                raise NotApplicableError("the writer tells no statistics()")
            sent, arrived = counts.requests, len(delivery.requests or ())
            if arrived > sent:
                trial.fail(
                    f"{arrived} requests arrived, of which some met {fault.value!r}, and the writer had sent {sent}: "
                    "look for a client library that repeats requests by itself, switch its retries off, and see that "
                    f"submit_request_entries makes one request{delivery.shown_requests()}"
                )
