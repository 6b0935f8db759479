from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from decimal import ROUND_CEILING

import genai_prices
import pytest
from genai_prices.data_snapshot import get_snapshot
from hypothesis import given
from hypothesis import strategies as st

from remit import ambient
from remit.budget import price, price_bound
from remit.types.budget import Usage

SONNET = "anthropic:claude-sonnet-4-5"
counts = st.integers(0, 150_000)


def test_a_known_model_costs_its_list_price_in_millionths_of_a_dollar():
    assert price(SONNET, Usage(input_tokens=1_000, output_tokens=500)) == 3_000 + 7_500
    assert price(SONNET, Usage(input_tokens=1_000, cache_read_tokens=1_000)) == 300
    assert price("openai:gpt-4o", Usage(input_tokens=1_000, output_tokens=100)) == price(
        "openai-chat:gpt-4o", Usage(input_tokens=1_000, output_tokens=100)
    )


def test_an_unknown_price_is_none_and_never_zero():
    for identity in ("anthropic:no-such-model", "elsewhere:claude-sonnet-4-5", "claude-sonnet-4-5", "anthropic:", ""):
        assert price(identity, Usage(input_tokens=1)) is None
        assert price_bound(identity, 1, 1) is None


def test_a_scripted_model_costs_nothing():
    assert price("scripted:anthropic", Usage(input_tokens=1)) == price_bound("scripted:anthropic", 1, 1) == 0


def test_a_part_of_a_millionth_is_rounded_up():
    assert price(SONNET, Usage(input_tokens=1, cache_read_tokens=1)) == 1


@given(counts, counts, counts, st.integers(0, 64_000))
def test_no_request_costs_more_than_its_bound(fresh, read, written, output):
    total = fresh + read + written
    usage = Usage(input_tokens=total, cache_read_tokens=read, cache_write_tokens=written, output_tokens=output)
    assert price(SONNET, usage) <= price_bound(SONNET, total, output)


LISTED = [
    f"{one.id}:{model.id}" for one in get_snapshot().providers if one.id in ("anthropic", "openai") for model in one.models
]
COUNTED = [
    Usage(input_tokens=1_000, output_tokens=77),
    Usage(input_tokens=210_003, cache_read_tokens=200_001, output_tokens=1),
    Usage(input_tokens=300_000, cache_read_tokens=1, cache_write_tokens=299_999),
    Usage(output_tokens=9),
]


@pytest.mark.parametrize("usage", COUNTED)
def test_every_listed_model_costs_what_the_list_says_itself(usage: Usage):
    def listed(identity: str) -> int | None:
        provider, _, name = identity.partition(":")
        counted = {
            "input_tokens": usage.input_tokens,
            "cache_read_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
            "output_tokens": usage.output_tokens,
        }
        used = genai_prices.Usage(**{kind: count for kind, count in counted.items() if count})
        at = datetime.fromtimestamp(ambient.now_ms() / 1000, UTC)
        try:
            found = genai_prices.calc_price(used, name, provider_id=provider, genai_request_timestamp=at)
        except LookupError:
            return None
        return int((found.total_price * 1_000_000).to_integral_value(ROUND_CEILING))

    with ambient.use(ambient.Seeded()):
        assert len(LISTED) > 50
        assert [(one, price(one, usage)) for one in LISTED] == [(one, listed(one)) for one in LISTED]


PROGRAM = """
import sys, threading
from remit.budget import context_window, foresee, price
from remit.types.budget import Usage

def loaded():
    for one in threading.enumerate():
        if one.name == "remit-prices":
            one.join()
    return "genai_prices" in sys.modules

foresee("scripted:m")
price("scripted:m", Usage(input_tokens=1))
context_window("anthropic:claude-sonnet-4-5", 4_000)
print(loaded())
foresee("anthropic:claude-sonnet-4-5")
print(loaded())
"""


def test_the_list_is_loaded_beside_what_goes_on_and_only_for_models_that_may_be_in_it():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
