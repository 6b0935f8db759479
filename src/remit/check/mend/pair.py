"""Mending calls and results: ids, places, and a result for a call that has none.

Invariant: no result is invented but one that says that what happened is unknown; nothing that differs is thrown away.
"""

from __future__ import annotations

from remit.check.edit import remove, written
from remit.check.mend.bench import Bench, again
from remit.check.pair import Pair
from remit.check.transcript import Call
from remit.check.value import Object, pointer, string
from remit.types.ident import Json

__all__ = ["duplicate_id", "duplicate_result", "missing_id", "missing_result", "misplaced", "unknown", "wrong_id"]


def unknown(tool: str) -> str:
    """The words of an outcome that is unknown, as a run of this library writes them."""
    why = "No result of this call was kept."
    return f"{tool}: unknown (call.without_result). {why} It may have happened.\nDo not try it again."


def missing_result(bench: Bench) -> str | None:
    """Answer a call that has no result with a marked "unknown"."""
    last = len(bench.case.transcript.messages) - 1
    for one in bench.case.pairs.rounds:
        if one.received or (one.index == last and not bench.case.transcript.asked):
            continue
        for call in one.open:
            result = _result(bench, call)
            if call.waits and result is not None:
                return bench.answered(bench.page, call, written(result))
    return None


def _result(bench: Bench, call: Call) -> Json:
    text = unknown(call.name)
    if call.kind == "hosted" or (not call.id and call.kind != "functions"):
        return None
    if bench.form == "anthropic":
        return {"type": "tool_result", "tool_use_id": call.id, "content": text, "is_error": True}
    if bench.form == "openai-chat":
        if call.kind == "functions":
            return {"role": "function", "name": call.name, "content": text}
        return {"role": "tool", "tool_call_id": call.id, "content": text}
    kind = "custom_tool_call_output" if call.kind == "custom" else "function_call_output"
    return {"type": kind, "call_id": call.id, "output": text}


def missing_id(bench: Bench) -> str | None:
    """Give a result the id of its call, and a call that has none an id."""
    for pair in bench.case.pairs.pairs:
        if pair.by == "order" and (new := _joined(bench, pair)) is not None:
            return new
    for call in bench.case.transcript.calls:
        if not call.id and call.kind == "function" and bench.index(call) is not None:
            return bench.with_id(bench.page, call, bench.fresh())
    return None


def _joined(bench: Bench, pair: Pair) -> str | None:
    if not _is_sent(bench, pair) or "functions" in (pair.call.kind, pair.result.kind):
        return None
    one = pair.call.id or pair.result.id or bench.fresh()
    if pair.call.id != one:
        return bench.with_id(bench.page, pair.call, one)
    return bench.with_id(bench.page, pair.result, one) if not pair.result.id else None


def _is_sent(bench: Bench, pair: Pair) -> bool:
    """Whether both stand in the request, and not in a response."""
    return bench.index(pair.call) is not None and bench.index(pair.result) is not None


def wrong_id(bench: Bench) -> str | None:
    """Give a result the id of the one call that is left for it."""
    for pair in bench.case.pairs.pairs:
        if pair.by == "guess" and pair.result.kind != "functions" and _is_sent(bench, pair):
            return bench.with_id(bench.page, pair.result, pair.call.id)
    return None


def duplicate_id(bench: Bench) -> str | None:
    """Give the second of two calls with one id another one, and its result too: they answer in their order."""
    for one in bench.case.pairs.rounds:
        seen: set[str] = set()
        for call in one.calls:
            if call.id and call.id in seen and bench.index(call) is not None:
                return _renamed(bench, call)
            seen.add(call.id)
    return _item_twice(bench) if bench.form == "openai-responses" else None


def _renamed(bench: Bench, call: Call) -> str:
    one = bench.fresh(f"{call.id}_2")
    text = bench.with_id(bench.page, call, one)
    result = bench.case.pairs.result_of(call)
    return text if result is None else bench.with_id(again(text), result, one)


def _item_twice(bench: Bench) -> str | None:
    """An item that is there twice goes; another one under the same id loses the id, which it need not have."""
    seen: dict[str, Object] = {}
    for index, item in enumerate(bench.messages):
        one = string(item, "id")
        if one and string(item, "type") not in ("item_reference", "local_shell_call_output"):
            if one in seen and item == seen[one] and "call_id" not in item:
                return remove(bench.page, bench.at(index))
            if one in seen and string(item, "type") != "reasoning":
                return remove(bench.page, pointer("id", base=bench.at(index)))
            seen[one] = item
    return None


def duplicate_result(bench: Bench) -> str | None:
    """Leave the second of two equal results out."""
    results = [(one.call, one.result) for one in bench.case.pairs.pairs]
    for result in bench.case.pairs.again:
        if bench.index(result) is None:
            continue
        for _, first in results:
            if (first.id, first.name, first.said, first.error) == (result.id, result.name, result.said, result.error):
                return bench.without(bench.page, result)
    return None


def misplaced(bench: Bench) -> str | None:
    """Move a result to where the provider wants it."""
    for pair in bench.case.pairs.pairs:
        if not pair.placed and _is_sent(bench, pair):
            return bench.moved(pair.call, pair.result)
    return None
