"""A recorded run, run again with the agent of now: no handler, no network, and nothing kept.

Knows what a ledger holds of a run. Invariant: the recorded ledger is read and never written, and whatever the outside
world would be asked is answered from the record.
"""

from __future__ import annotations

from remit.cli.replay.again import Again, run_again
from remit.cli.replay.compare import Compared, Decided, compare
from remit.cli.replay.record import Record, read

__all__ = ["Again", "Compared", "Decided", "Record", "compare", "read", "run_again"]
