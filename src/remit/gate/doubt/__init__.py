"""Operations of which it is not known whether they happened: waiting for them, recovering them, hearing of them."""

from __future__ import annotations

__all__: list[str] = []
