"""Order, as far as it is promised."""

from __future__ import annotations

from asyncsink_testing.conformance.check import check
from asyncsink_testing.conformance.trial import Trial
from asyncsink_testing.faults import Fault, Step

_FAULTS = (
    Fault.PARTLY_FAILED,
    Fault.PARTLY_THROTTLED,
    Fault.THROTTLED,
    Fault.REFUSED,
    Fault.DISCONNECTED,
    Fault.ANSWER_LOST,
)
_LATENCIES_S = (0.04, 0.0, 0.02, 0.01)


@check("single-file-order", since="0.1", sees_requests=True)
async def single_file_order(trial: Trial) -> None:
    """With one request in flight at a time rows arrive in the order in which they were written.

    Sends with maxInFlightRequests=1 through throttles and broken connections, as far as the destination can make
    them. The order holds from request to request and within each; repetitions do not count. It breaks where entries
    are sorted, grouped or reversed on their way into a request. Where the service has partitions, whose rows go their
    own ways, it is the order of each key.
    """
    by_key = trial.capabilities.ordering == "partition"
    trouble = [fault for fault in (Fault.THROTTLED, Fault.DISCONNECTED) if fault in trial.destination.supported]
    steps = [Fault.OK, *trouble, Fault.OK, Fault.OK, *trouble[::-1], *trouble]
    rows = trial.rows(6 * trial.batch, keys=3)
    delivery = await trial.deliver(rows, steps, extra={} if by_key else {"maxInFlightRequests": "1"})
    delivery.arrived().in_order(by_key=by_key)


@check("key-order", since="0.1", needs=[Fault.SLOW], asks=["ordering"])
async def key_order(trial: Trial) -> None:
    """With ordering=key the rows of each key arrive in order, though several requests are in flight.

    The answers to the requests come late and not in the order of the requests. A row that arrives before an older one
    of its key has overtaken it: two requests with the same key were under way at once, or the connector's keys are
    not the keys of the rows.
    """
    steps = [Step(Fault.OK, latency_s=each) for each in _LATENCIES_S * 4]
    delivery = await trial.deliver(trial.rows(10 * trial.batch, keys=2 * trial.batch), steps, extra=_asked(trial))
    delivery.arrived().in_order(by_key=True)


@check("key-order-under-faults", since="0.1", one_of=_FAULTS, asks=["ordering"])
async def key_order_under_faults(trial: Trial) -> None:
    """With ordering=key the rows of each key first arrive in order, whatever became of the requests before.

    Every fault that the destination can make meets some of the requests: refusals of single entries, throttles,
    broken connections and lost answers. While a row is to be sent again no younger row of its key may be stored. It
    breaks where a connector claims atomic_requests for a service that answers for single entries, and where it
    repeats requests on its own.
    """
    for fault in _FAULTS:
        if fault not in trial.destination.supported:
            continue
        bad = Step.partly(fault, 0, 2) if fault.by_index else Step(fault)
        steps = [bad, Step(Fault.OK), bad, bad, Step(Fault.OK), Step(Fault.OK), bad]
        for keys in (2, 2 * trial.batch):
            async with trial.fresh() as fresh:
                delivery = await fresh.deliver(fresh.rows(6 * trial.batch, keys=keys), steps, extra=_asked(trial))
                delivery.arrived().in_order(by_key=True)


def _asked(trial: Trial) -> dict[str, str]:
    """The option by which the order of keys is kept, where it is not kept anyway."""
    return {"ordering": "key"} if trial.capabilities.ordering == "key" else {}
