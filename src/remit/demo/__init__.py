"""The demo: one refund, asked for four ways, with a plain loop and with Remit; the books are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["main"]


def main(*, json: bool, console: Console) -> int:
    """Run the demo; takes well under two minutes and needs no network but the loopback.

    Args:
        json: print one JSON object (`ways`, `open_questions`) instead of a table.
        console: where to print.

    Returns:
        0 if Remit refunded once in every way, else 1.
    """
    from remit.demo.story import tell

    return tell(json_only=json, console=console)
