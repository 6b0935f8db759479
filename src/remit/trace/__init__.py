"""What may leave the vault, and how: redaction, the description of events, the one recorder, error texts.

It knows events and errors. It does not know where they are kept, nor who reads what it lets out.
"""

from __future__ import annotations

from remit.trace.describe import describe
from remit.trace.explain import explain
from remit.trace.reader import spoken
from remit.trace.recorder import Recorder, log_traceback
from remit.trace.redact import Redactor
from remit.trace.rule import DEFAULT, Rule
from remit.trace.stream import StreamRedactor

__all__ = ["DEFAULT", "Recorder", "Redactor", "Rule", "StreamRedactor", "describe", "explain", "log_traceback", "spoken"]
