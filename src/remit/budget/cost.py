"""List prices of models, offline, in millionths of a dollar, rounded up.

Knows the bundled price list, which is loaded when a price is first asked for; a model is looked up in it once.
Invariant: an unknown price is None, never 0; 0 is the price of a scripted model, which nobody is paid for.
"""

from __future__ import annotations

import functools
import threading
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING

from remit import ambient
from remit.types.budget import Usage

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, TieredPrices

__all__ = ["context_window", "foresee", "price", "price_bound"]

_PROVIDERS = {
    "anthropic": "anthropic",
    "anthropic-bedrock": "aws",
    "anthropic-vertex": "google",
    "openai": "openai",
    "openai-azure": "azure",
    "openai-chat": "openai",
    "openai-chat-azure": "azure",
}
_NOTHING = Decimal(0)
_LEAST_CONTEXT = 8_000
"""No listed model that talks has a smaller one."""


def price(model_identity: str, usage: Usage) -> int | None:
    """What a request cost; None where the model's price is not known.

    Args:
        model_identity: `provider:NAME`, as a run records it.
        usage: `input_tokens` are all input tokens, those read from and written to the cache included.
    """
    read, written = usage.cache_read_tokens, usage.cache_write_tokens
    return _cost(model_identity, max(usage.input_tokens, read + written), usage.output_tokens, read=read, written=written)


def price_bound(model_identity: str, input_tokens: int, max_output: int) -> int | None:
    """The most that a request can cost: nothing read from the cache, and all of it written there if that costs more."""
    plain = _cost(model_identity, input_tokens, max_output)
    cached = _cost(model_identity, input_tokens, max_output, written=input_tokens)
    return plain if plain is None or cached is None else max(plain, cached)


@functools.cache
def foresee(model_identity: str) -> None:
    """Look the model up beside what goes on, the first time: loading the list takes some tenths of a second."""
    if _is_listed(model_identity):
        threading.Thread(target=_listed, args=(model_identity,), name="remit-prices", daemon=True).start()


def context_window(model_identity: str, tokens: int = _LEAST_CONTEXT) -> int | None:
    """How many tokens the model's context holds, by the price list; None where that does not say.

    Args:
        tokens: as many are to fit; fewer than the smallest context holds are not looked up.
    """
    model = None if tokens < _LEAST_CONTEXT else _listed(model_identity)
    return None if model is None else model.context_window


@functools.cache
def _listed(model_identity: str) -> ModelInfo | None:
    """The model in the list."""
    if not _is_listed(model_identity):
        return None
    provider, _, name = model_identity.partition(":")
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, model = get_snapshot().find_provider_model(name, None, _PROVIDERS[provider], None)
    except LookupError:
        return None
    return model


def _is_listed(model_identity: str) -> bool:
    """Whether the list has models of this provider."""
    provider, _, name = model_identity.partition(":")
    return provider in _PROVIDERS and bool(name)


def _cost(model_identity: str, input_tokens: int, output_tokens: int, *, read: int = 0, written: int = 0) -> int | None:
    if model_identity.startswith("scripted:"):
        return 0
    model = _listed(model_identity)
    if model is None:
        return None
    prices = model.get_prices(datetime.fromtimestamp(ambient.now_ms() / 1000, UTC))
    usd_per_million = _sum(prices, input_tokens, output_tokens, read=read, written=written)
    return int(usd_per_million.to_integral_value(ROUND_CEILING))  # a dollar for a million is a millionth for one


def _sum(prices: ModelPrice, input_tokens: int, output_tokens: int, *, read: int, written: int) -> Decimal:
    """Tokens times their prices. What has no price of its own for the cache costs as other input does."""
    plain = _at(prices.input_mtok, input_tokens)
    from_cache, to_cache = (_at(one, input_tokens, plain) for one in (prices.cache_read_mtok, prices.cache_write_mtok))
    fresh = input_tokens - read - written
    return fresh * plain + read * from_cache + written * to_cache + output_tokens * _at(prices.output_mtok, input_tokens)


def _at(price: Decimal | TieredPrices | None, input_tokens: int, default: Decimal = _NOTHING) -> Decimal:
    """The price where this much is sent: some providers take more for all of a request that is long."""
    if price is None or isinstance(price, Decimal):
        return default if price is None else price
    return next((tier.price for tier in reversed(price.tiers) if input_tokens > tier.start), price.base)
