"""Whole requests from real traffic: what the rules are tried on."""

from __future__ import annotations

import copy
import functools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from remit.check import Form, documents

ROOT = os.environ.get("REMIT_CORPUS")
WHY = "REMIT_CORPUS does not name a folder with recorded traffic"
FILES = (
    "traffic/anthropic-messages",
    "traffic/anthropic-sdk",
    "traffic/openai-chat",
    "traffic/openai-responses",
    "traffic/trajectories-openai-chat",
    "traffic/vercel-fixtures",
    "taubench/gpt-4o-airline",
)


def text_of(file: str) -> str:
    assert ROOT
    return (Path(ROOT) / f"{file}.jsonl").read_text(encoding="utf-8")


def lines_of(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text_of(file).splitlines()]


@functools.cache
def _requests() -> list[tuple[Form, str]]:
    found: list[tuple[Form, str]] = []
    files: tuple[tuple[str, Form], ...] = (
        ("traffic/anthropic-messages", "anthropic"),
        ("traffic/anthropic-sdk", "anthropic"),
        ("traffic/openai-chat", "openai-chat"),
        ("traffic/openai-responses", "openai-responses"),
    )
    for file, form in files:
        found += [(form, json.dumps(entry["request"])) for entry in lines_of(file)]
    assert ROOT
    tools = json.loads((Path(ROOT) / "taubench/tools-airline.json").read_text())
    for entry in lines_of("taubench/gpt-4o-airline"):
        found.append(("openai-chat", json.dumps({"model": "gpt-4o", "messages": entry["messages"], "tools": tools})))
    return found


def requests() -> Iterator[tuple[Form, dict[str, Any]]]:
    """Every request, each a fresh copy."""
    for form, text in _requests():
        yield form, json.loads(text)


@functools.cache
def thinking() -> list[tuple[Form, str, str]]:
    """Responses that thought before they called, each with a request that sends them back.

    Anthropic's that call have no thought in the corpus, so that one is put in front of what they say.
    """
    found: list[tuple[Form, str, str]] = []
    for entry in lines_of("traffic/anthropic-messages"):
        thought = {"type": "thinking", "thinking": "The tool knows.", "signature": "c2lnbmF0dXJl"}
        said = {**entry["response"], "content": [thought, *entry["response"].get("content", [])]}
        follow = _follow("anthropic", said) if "content" in entry["response"] else None
        if follow is not None:
            found.append(("anthropic", json.dumps(said), json.dumps(follow)))
    for document in documents(text_of("traffic/vercel-fixtures")):
        whole = document.whole
        if whole is None or whole.response is None or document.form != "openai-responses":
            continue
        response = copy.deepcopy(dict(whole.response))
        follow = _follow(document.form, response)
        if follow is not None and document.form is not None:
            found.append((document.form, json.dumps(response), json.dumps(follow)))
    return found


def _follow(form: Form | None, response: dict[str, Any]) -> dict[str, Any] | None:
    if form == "anthropic":
        blocks = [one for one in response["content"] if not one["type"].endswith("tool_result")]
        calls = [one for one in blocks if one["type"] == "tool_use"]
        if not calls or blocks[0]["type"] != "thinking" or any(one["type"] == "server_tool_use" for one in blocks):
            return None
        answers = [{"type": "tool_result", "tool_use_id": one["id"], "content": "20 degrees"} for one in calls]
        messages = [
            {"role": "user", "content": "Look it up."},
            {"role": "assistant", "content": blocks},
            {"role": "user", "content": answers},
        ]
        names = dict.fromkeys(one["name"] for one in calls)
        tools = [{"name": name, "input_schema": {"type": "object"}} for name in names]
        return {"model": response["model"], "max_tokens": 100, "messages": messages, "tools": tools}
    items = [one for one in response["output"] if one["type"] in ("reasoning", "function_call", "message")]
    calls = [one for one in items if one["type"] == "function_call"]
    if not calls or items[0]["type"] != "reasoning" or len(items) != len(response["output"]):
        return None
    answers = [{"type": "function_call_output", "call_id": one["call_id"], "output": "20 degrees"} for one in calls]
    names = dict.fromkeys(one["name"] for one in calls)
    tools = [{"type": "function", "name": name, "parameters": {"type": "object"}} for name in names]
    return {"model": "gpt-5", "input": [{"role": "user", "content": "Look it up."}, *items, *answers], "tools": tools}
