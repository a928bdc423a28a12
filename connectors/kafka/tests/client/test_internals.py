from __future__ import annotations

from aiokafka.producer.message_accumulator import BatchBuilder

from asyncsink_kafka.client.internals import Numbers, PrivateHandover, SealedBatch

from .batches import batch_of, numbers_of

PARTITION = ("t", 0)


def sealed(way: PrivateHandover, count: int = 1) -> bytes:
    """The batch as aiokafka's sender gets it, which says 9, 0 and a count of its own."""
    builder = way.builder(None, PARTITION, batch_of([f"{each}" for each in range(count)]))
    builder._set_producer_state(9, 0, 123)
    return bytes(builder._build())


def test_the_numbers_of_a_partition_follow_what_was_stored() -> None:
    way = PrivateHandover()
    for sequence in (0, 3, 6):
        assert numbers_of(sealed(way, 3)) == (9, 0, sequence)
        way.stored(PARTITION, 3)


def test_a_batch_that_was_surely_not_stored_leaves_its_numbers_to_the_next() -> None:
    way = PrivateHandover()
    way.stored(PARTITION, 5)
    assert numbers_of(sealed(way)) == (9, 0, 5)
    assert not way.given_up(PARTITION, new_epoch=False)
    assert numbers_of(sealed(way)) == (9, 0, 5)


def test_a_batch_that_may_be_stored_takes_its_epoch_with_it() -> None:
    way = PrivateHandover()
    way.stored(PARTITION, 5)
    before = way.builder(None, PARTITION, batch_of(["a"]))
    assert not way.given_up(PARTITION, new_epoch=True)
    assert numbers_of(sealed(way)) == (9, 1, 0)
    way.stored(PARTITION, 1)
    assert numbers_of(sealed(way)) == (9, 1, 1)
    # One that still waits in aiokafka goes under the numbers that were its own.
    before._set_producer_state(9, 0, 123)
    assert numbers_of(bytes(before._build())) == (9, 0, 5)


def test_sequence_numbers_begin_again_after_the_greatest() -> None:
    way = PrivateHandover()
    way.stored(PARTITION, 2**31 - 1)
    assert numbers_of(sealed(way, 2)) == (9, 0, 2**31 - 1)
    way.stored(PARTITION, 2)
    assert numbers_of(sealed(way)) == (9, 0, 1)


def test_the_producer_is_renewed_when_its_epochs_are_used_up() -> None:
    way = PrivateHandover()
    renewals = [way.given_up(PARTITION, new_epoch=True) for _ in range(2**15)]
    assert renewals == [False] * (2**15 - 1) + [True]
    way.renewed()
    assert numbers_of(sealed(way)) == (9, 0, 0)


def test_without_idempotence_a_batch_has_no_numbers() -> None:
    builder = SealedBatch(batch_of(["a"]), Numbers())
    assert numbers_of(bytes(builder._build())) == (-1, -1, -1)
    assert builder._build() is builder._build()


def test_an_imitation_has_all_that_a_builder_has() -> None:
    mine = {name for name in vars(SealedBatch) if callable(getattr(SealedBatch, name)) and name[:2] != "__"}
    theirs = {name for name in vars(BatchBuilder) if callable(getattr(BatchBuilder, name)) and name[:2] != "__"}
    # The builder serialises keys and values within its own append.
    assert theirs - mine == {"_serialize"}
