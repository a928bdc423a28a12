"""Where Arrow's large buffers come from."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

POOL: Final = pa.system_memory_pool()
"""For buffers of megabytes that live for milliseconds. Arrow's default pool gives them back to the system at once, and
to be given fresh pages costs more than to fill them: half of the time that rows of 1 KB take. The system's own keeps
them, up to 32 MiB, and knows when they are too many."""
