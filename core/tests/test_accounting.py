from __future__ import annotations

import pytest

from asyncsink import Accounting, AccountingError, TooManyRejectedError


def counted(**counts: int) -> Accounting:
    accounting = Accounting()
    for name, count in counts.items():
        setattr(accounting, name, count)
    return accounting


def test_what_came_in_is_what_is_settled_and_what_is_not() -> None:
    told = counted(accepted=10, restored=3, acknowledged=5, dead_lettered=2, dropped=1)
    assert (told.total, told.settled, told.rejected, told.unacknowledged) == (13, 8, 3, 5)
    told.check(5)


@pytest.mark.parametrize("held", [4, 6])
def test_an_element_too_few_or_too_many_is_an_error_that_holds_every_count(held: int) -> None:
    told = counted(accepted=10, restored=3, acknowledged=5, dead_lettered=2, dropped=1)
    with pytest.raises(AccountingError) as raised:
        told.check(held)
    assert str(raised.value) == (
        f"{held} elements are held, but accepted 10 + restored 3 - acknowledged 5 - dead-lettered 2 - dropped 1 = 5; "
        "this is a bug of the writer, please report it"
    )


def test_more_rejected_elements_than_their_share_are_an_error() -> None:
    told = counted(accepted=150, restored=50, dead_lettered=15, dropped=5)
    told.check_rejected(0.1)
    told.check_rejected(1.0, pending=100)
    for pending, most in ((1, 0.1), (0, 0.05), (0, 0)):
        with pytest.raises(TooManyRejectedError, match=f"{20 + pending} of 200 elements were rejected, more than "):
            told.check_rejected(most, pending)


def test_no_share_is_judged_of_fewer_than_a_hundred_elements() -> None:
    counted(accepted=99, dropped=99).check_rejected(0.1)
    with pytest.raises(TooManyRejectedError):
        counted(accepted=99, restored=1, dropped=99).check_rejected(0.1)
