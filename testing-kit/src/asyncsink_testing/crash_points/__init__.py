"""Kills at the points of a two-phase commit, through real Spark: a process comes to a point, says so and waits.

A test installs a connector whose processes call :func:`~asyncsink_testing.crash_points.meeting.meet`, has drivers run
queries with it, waits until a process is at a :class:`~asyncsink_testing.crash_points.points.Point`, and kills whom it
wants to kill. Linux only.
"""
