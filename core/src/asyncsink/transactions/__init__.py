"""Two-phase commits over a ledger: the log of what was decided, and the state machine that carries it out.

Nothing here imports Spark.
"""

from asyncsink.transactions.transaction import Transaction

__all__ = ["Transaction"]
