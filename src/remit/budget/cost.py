"""List prices of models, offline, in millionths of a dollar, rounded up.

Knows the bundled price list, which is loaded when a price is first asked for. Invariant: an unknown
price is None, never 0; 0 is the price of a scripted model, which nobody is paid for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal

from remit import ambient
from remit.types.budget import Usage

__all__ = ["context_window", "price", "price_bound"]

_PROVIDERS = {"anthropic": "anthropic", "openai": "openai", "openai-chat": "openai"}
_MICROS = Decimal(1_000_000)


def price(model_identity: str, usage: Usage) -> int | None:
    """What a request cost; None where the model's price is not known.

    Args:
        model_identity: `provider:NAME`, as a run records it.
        usage: `input_tokens` are all input tokens, those read from and written to the cache included.
    """
    return _cost(
        model_identity,
        input_tokens=max(usage.input_tokens, usage.cache_read_tokens + usage.cache_write_tokens),
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
    )


def price_bound(model_identity: str, input_tokens: int, max_output: int) -> int | None:
    """The most that a request can cost: nothing read from the cache, and all of it written there if that costs more."""
    plain = _cost(model_identity, input_tokens=input_tokens, output_tokens=max_output)
    cached = _cost(model_identity, input_tokens=input_tokens, cache_write_tokens=input_tokens, output_tokens=max_output)
    return plain if plain is None or cached is None else max(plain, cached)


def context_window(model_identity: str) -> int | None:
    """How many tokens the model's context holds, by the price list; None where that does not say."""
    provider, _, name = model_identity.partition(":")
    known = _PROVIDERS.get(provider)
    return None if known is None or not name else _window(known, name)


@functools.cache
def _window(provider: str, name: str) -> int | None:
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, model = get_snapshot().find_provider_model(name, None, provider, None)
    except LookupError:
        return None
    return model.context_window


def _cost(model_identity: str, **tokens: int) -> int | None:
    provider, _, name = model_identity.partition(":")
    if provider == "scripted":
        return 0
    known = _PROVIDERS.get(provider)
    if known is None or not name:
        return None
    now = datetime.fromtimestamp(ambient.now_ms() / 1000, UTC)
    usd = _calculator()(known, name, {key: count for key, count in tokens.items() if count}, now)
    return None if usd is None else int((usd * _MICROS).to_integral_value(ROUND_CEILING))


@functools.cache
def _calculator() -> Callable[[str, str, dict[str, int], datetime], Decimal | None]:
    from genai_prices import Usage as Counted
    from genai_prices import calc_price

    def calculate(provider: str, name: str, tokens: dict[str, int], now: datetime) -> Decimal | None:
        try:
            found = calc_price(Counted(**tokens), name, provider_id=provider, genai_request_timestamp=now)
        except (LookupError, ValueError):
            return None
        return found.total_price

    return calculate
