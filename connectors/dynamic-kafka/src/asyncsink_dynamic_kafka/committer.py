"""The second phase over several clusters: each cluster's transactions are ended by a committer of its own."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import anyio

from asyncsink.committer import Committer
from asyncsink.errors import ConfigurationError, DestinationUnavailableError, LostCommittablesError
from asyncsink.transactions import Transaction
from asyncsink_dynamic_kafka.metadata.errors import MetadataError, MetadataUnavailableError
from asyncsink_dynamic_kafka.metadata.identifiers import KafkaClusterIdentifier
from asyncsink_dynamic_kafka.metadata.snapshot import Cluster, StreamMetadata
from asyncsink_dynamic_kafka.silence import ANSWER_S, Silence
from asyncsink_dynamic_kafka.state import DynamicKafkaWriterState
from asyncsink_dynamic_kafka.transactions import DynamicKafkaTransaction
from asyncsink_kafka.transactions.committable import KafkaTransaction
from asyncsink_kafka.transactions.committer import KafkaCommitter

if TYPE_CHECKING:
    from asyncsink_dynamic_kafka.sink import DynamicKafkaSink

logger = logging.getLogger(__name__)

_KNOWN: Final[dict[tuple[str, KafkaClusterIdentifier], Cluster]] = {}
"""By sink, the clusters that this process has heard of: one that was removed still has transactions to be committed."""
_SILENCE: Final = Silence()


class DynamicKafkaCommitter(Committer[DynamicKafkaTransaction]):
    """Ends the transactions of every cluster, also of those that no stream has any more.

    How a cluster is connected to comes from the metadata service; where that does not answer, or does not know the
    cluster any more, from what this process has last heard; else from the sink's own options.

    :param make_committer: makes that of one cluster
    :param silence: of clusters that did not answer; by default what this process knows
    """

    def __init__(
        self,
        sink: DynamicKafkaSink,
        make_committer: Callable[..., Committer[KafkaTransaction]] = KafkaCommitter,
        silence: Silence | None = None,
    ) -> None:
        self._sink, self._make_committer = sink, make_committer
        self._silence = _SILENCE if silence is None else silence
        self._committers: dict[KafkaClusterIdentifier, Committer[KafkaTransaction]] = {}
        self._metadata: StreamMetadata | None = None
        self._has_asked = False

    async def check_destination(self) -> None:
        """See that every active cluster tells of transactions; once in a process.

        :raises FatalRequestError: one does not
        :raises DestinationUnavailableError: one does not answer within ``retry.timeout``
        """
        metadata = await self._known()
        clusters = [] if metadata is None else [each for each in metadata.clusters.values() if each.is_writable]
        await self._each(
            {each.identifier: None for each in clusters}, lambda committer, _: committer.check_destination()
        )

    async def check(self, committables: Sequence[DynamicKafkaTransaction]) -> None:
        """See that all are open, and will be for a while.

        :raises CommitError: one is not
        """
        await self._each(_by_cluster(committables), lambda committer, found: committer.check(found))

    async def commit(self, committables: Sequence[DynamicKafkaTransaction]) -> list[DynamicKafkaTransaction]:
        """Commit all; returns those of clusters that do not answer, while the others are committed.

        :raises LostCommittablesError: some are lost, in whatever cluster
        """
        again: list[DynamicKafkaTransaction] = []
        losses: list[tuple[KafkaClusterIdentifier, LostCommittablesError]] = []
        failures: list[Exception] = []

        async def one(cluster: KafkaClusterIdentifier, found: list[KafkaTransaction]) -> None:
            try:
                left = await self._committer(cluster).commit(found)
            except LostCommittablesError as error:
                losses.append((cluster, error))
                left = list(error.again)
            except Exception as error:
                # The others are committed first; what was not tried stays prepared.
                failures.append(error)
                left = found
            again.extend(DynamicKafkaTransaction(cluster, each) for each in left)

        await self._known()
        async with anyio.create_task_group() as group:
            for cluster, found in _by_cluster(committables).items():
                group.start_soon(one, cluster, found)
        if again and self._metadata is None:
            # Those of clusters with properties of their own can perhaps not be committed until the service tells them.
            await self.aclose()
            self._has_asked = False
        if losses:
            raise _joined(losses, again)
        if failures:
            raise failures[0]
        return again

    async def abort(self, committables: Sequence[DynamicKafkaTransaction]) -> None:
        await self._each(_by_cluster(committables), lambda committer, found: committer.abort(found))

    async def sweep(self, transaction: Transaction, states: Sequence[Any]) -> None:
        """Have what dead attempts have left removed, in every cluster.

        One that is not written to now may be gone for good. It is waited for a few seconds, and if it has not answered,
        asked again after a pause only: each batch is swept after.
        """
        clusters = await self._all_clusters(states)
        await _all_of([lambda cluster=cluster: self._sweep(cluster, transaction) for cluster in clusters])  # type: ignore[misc]

    async def _sweep(self, cluster: KafkaClusterIdentifier, transaction: Transaction) -> None:
        sink, is_written_to = self._sink.fingerprint, self._is_written_to(cluster)
        if not is_written_to and self._silence.holds(sink, cluster):
            return
        try:
            with anyio.fail_after(None if is_written_to else ANSWER_S):
                await self._committer(cluster).sweep(transaction, ())
        except (DestinationUnavailableError, TimeoutError):
            if is_written_to:
                raise
            logger.warning(
                "cluster %r is not written to now and does not answer; what dead attempts may have left open there "
                "ends after its transactionTimeout, or is looked for again in %g s",
                cluster.name,
                self._silence.begin(sink, cluster),
            )
        else:
            self._silence.end(sink, cluster)

    def _is_written_to(self, identifier: KafkaClusterIdentifier) -> bool:
        cluster = None if self._metadata is None else self._metadata.clusters.get(identifier.name)
        return cluster is not None and cluster.identifier == identifier and cluster.is_writable

    async def open_transactions(self, transaction: Transaction) -> list[str]:
        found: list[str] = []

        async def ask(cluster: KafkaClusterIdentifier) -> None:
            committer = self._committer(cluster)
            found.extend(f"{cluster.name}: {each}" for each in await committer.open_transactions(transaction))

        await _all_of([lambda cluster=cluster: ask(cluster) for cluster in await self._all_clusters(())])  # type: ignore[misc]
        return sorted(found)

    async def aclose(self) -> None:
        committers, self._committers = self._committers, {}
        for each in committers.values():
            await each.aclose()

    # ---- clusters --------------------------------------------------------------------------------------------

    async def _each(
        self,
        found: Mapping[KafkaClusterIdentifier, Any],
        ask: Callable[[Committer[KafkaTransaction], Any], Awaitable[Any]],
    ) -> None:
        """Ask every cluster's committer; one that fails keeps no other from being asked, and the first error counts."""

        async def one(cluster: KafkaClusterIdentifier, what: Any) -> None:
            await ask(self._committer(cluster), what)

        await self._known()
        await _all_of([lambda cluster=cluster, what=what: one(cluster, what) for cluster, what in found.items()])  # type: ignore[misc]

    async def _all_clusters(self, states: Iterable[Any]) -> list[KafkaClusterIdentifier]:
        """Those of the states, of the metadata, and of what this process has heard."""
        await self._known()
        found = {identifier for sink, identifier in _KNOWN if sink == self._sink.fingerprint}
        for state in states:
            if isinstance(state, DynamicKafkaWriterState):
                topics = (topic for each in state.stream_metadata_map.values() for topic in each)
                found.update(topic.kafka_cluster_identifier for topic in topics)
        return sorted(found)

    def _committer(self, identifier: KafkaClusterIdentifier) -> Committer[KafkaTransaction]:
        if identifier not in self._committers:
            cluster = _KNOWN.get((self._sink.fingerprint, identifier)) or self._unknown(identifier)
            sink = self._sink.cluster_sink(cluster)
            shares = self._sink.options.transactional_id_prefix is None
            self._committers[identifier] = self._make_committer(sink.options, sink.config, shares_prefix=shares)
        return self._committers[identifier]

    def _unknown(self, identifier: KafkaClusterIdentifier) -> Cluster:
        """A cluster that only a committable or a state names: by the properties of its name, where these are known."""
        namesake = None if self._metadata is None else self._metadata.clusters.get(identifier.name)
        return Cluster(identifier, None if namesake is None else namesake.properties)

    async def _known(self) -> StreamMetadata | None:
        """What the service says, asked once by each committer; None where it does not answer.

        :raises ConfigurationError: it cannot be asked at all; whoever can mend that has to
        """
        if not self._has_asked:
            try:
                async with self._sink.discovering() as discovery:
                    self._metadata = await discovery.ready(())
            except (MetadataError, MetadataUnavailableError) as error:
                logger.warning("transactions are ended by what is known without the metadata service: %s", error)
            self._has_asked = True
            for each in () if self._metadata is None else self._metadata.clusters.values():
                _KNOWN[self._sink.fingerprint, each.identifier] = each
        return self._metadata


async def _all_of(calls: Sequence[Callable[[], Awaitable[None]]]) -> None:
    """Make all these calls at once; raises the first error, a mistake in the configuration before others."""
    errors: list[Exception] = []

    async def one(call: Callable[[], Awaitable[None]]) -> None:
        try:
            await call()
        except Exception as error:
            errors.append(error)

    async with anyio.create_task_group() as group:
        for call in calls:
            group.start_soon(one, call)
    if errors:
        raise next((each for each in errors if isinstance(each, ConfigurationError)), errors[0])


def _by_cluster(
    committables: Iterable[DynamicKafkaTransaction],
) -> dict[KafkaClusterIdentifier, list[KafkaTransaction]]:
    found: dict[KafkaClusterIdentifier, list[KafkaTransaction]] = defaultdict(list)
    for each in committables:
        found[each.cluster].append(each.transaction)
    return found


def _joined(
    losses: Sequence[tuple[KafkaClusterIdentifier, LostCommittablesError]], again: Sequence[DynamicKafkaTransaction]
) -> LostCommittablesError:
    """What several clusters have lost, as one error."""
    return LostCommittablesError(
        "; ".join(f"cluster {cluster.name!r}: {error}" for cluster, error in losses),
        [DynamicKafkaTransaction(cluster, each) for cluster, error in losses for each in error.lost],
        again,
        may_be_committed=any(error.may_be_committed for _, error in losses),
    )
