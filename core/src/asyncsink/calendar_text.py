"""Dates and moments that neither Arrow nor Python's datetime can write: before year 1 and beyond 9999.

Spark's dates and timestamps reach further than both. As in Spark's ``to_json`` and in ISO 8601 a year of more than four
digits has a sign.
"""

from __future__ import annotations

_DAYS_OF_400_YEARS = 146_097
_DAYS_BEFORE_1970 = 719_468  # from 0000-03-01, on which the years of the calculation begin


def day_text(days: int) -> str:
    """The date so many days after 1970-01-01, in the proleptic Gregorian calendar."""
    # Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
    era, day = divmod(days + _DAYS_BEFORE_1970, _DAYS_OF_400_YEARS)
    of_era = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    of_year = day - (365 * of_era + of_era // 4 - of_era // 100)
    month = (5 * of_year + 2) // 153
    number = of_year - (153 * month + 2) // 5 + 1
    month += 3 if month < 10 else -9
    year = of_era + 400 * era + (month <= 2)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{number:02}"


def moment_text(count: int, per_second: int) -> str:
    """The moment so many units after 1970-01-01T00:00, with three digits of a second, and more where it is finer."""
    seconds, part = divmod(count, per_second)
    days, second = divmod(seconds, 86_400)
    digits = f"{part * (1_000_000_000 // per_second):09}"
    while len(digits) > 3 and digits.endswith("000"):
        digits = digits[:-3]
    return f"{day_text(days)}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.{digits}"
