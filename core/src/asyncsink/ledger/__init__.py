"""A few small files beside Spark's checkpoint: the last batch committed, what was learned, what became of each batch.

``<checkpoint>/asyncsink/<sink>/state.json`` is replaced with each commit, ``progress/<batch>.json`` is kept for the
last thousand batches. Nothing here imports Spark.
"""

from asyncsink.ledger.ledger import FOLDER, Ledger, query_id_of
from asyncsink.ledger.progress import BatchProgress
from asyncsink.ledger.state import KeptState, LedgerState
from asyncsink.ledger.store import Store, open_store

__all__ = ["FOLDER", "BatchProgress", "KeptState", "Ledger", "LedgerState", "Store", "open_store", "query_id_of"]
