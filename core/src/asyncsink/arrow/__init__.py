"""Arrow batches as blocks of entries; needs pyarrow and numpy (``pip install 'asyncsink-core[arrow]'``)."""

from asyncsink.arrow.block import ArrowBlock
from asyncsink.arrow.normalise import normalise

__all__ = ["ArrowBlock", "normalise"]
