"""Draws `docs/images/demo.svg` from a real run of the demo: `make picture`."""

from __future__ import annotations

import io
import sys
from pathlib import Path

from rich.console import Console

from remit import demo

PICTURE = Path(__file__).resolve().parent / "images" / "demo.svg"


def main() -> int:
    """Run the demo, and keep what it printed."""
    console = Console(record=True, width=84, file=io.StringIO(), markup=False, highlight=False)
    console.print("$ make demo", style="bold")
    code = demo.main(json=False, console=console)
    console.save_svg(str(PICTURE), title="remit demo", unique_id="remit-demo")
    return code


if __name__ == "__main__":
    sys.exit(main())
