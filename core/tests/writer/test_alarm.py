"""The alarm: one task that wakes when the earliest of a writer's times has come."""

from __future__ import annotations

from math import inf

import anyio

from asyncsink.writer.timekeeper import Alarm
from asyncsink_testing.virtual_time import virtual


@virtual
async def test_a_time_that_was_asked_for_while_the_alarm_rang_is_kept_though_it_is_no_longer_one_to_come() -> None:
    rung: list[float] = []
    start_s = anyio.current_time()

    def ring() -> None:
        rung.append(anyio.current_time() - start_s)
        if len(rung) == 1:
            # A plan was refused for half a second more; by the time the alarm looks, that half second is over.
            alarm.set(anyio.current_time() + 0.5)

    alarm = Alarm(lambda: inf if rung else start_s + 1.0, ring)
    with anyio.move_on_after(100.0):
        await alarm.run()
    assert rung == [1.0, 1.5]


@virtual
async def test_the_alarm_rings_at_the_earliest_time_that_anybody_asks_for() -> None:
    rung: list[float] = []
    start_s = anyio.current_time()
    alarm = Alarm(lambda: inf, lambda: rung.append(anyio.current_time() - start_s))
    with anyio.move_on_after(100.0):
        async with anyio.create_task_group() as group:
            group.start_soon(alarm.run)
            await anyio.sleep(1.0)
            for time_s in (9.0, 3.0, 5.0):
                alarm.set(start_s + time_s)
    assert rung == [3.0]
