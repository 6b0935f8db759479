"""Real tools of others, and real calls of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from remit.canonical import encode, parse
from remit.tool import READ, Arguments, Catalogue, Tool

ROOT = os.environ.get("REMIT_CORPUS")
pytestmark = pytest.mark.skipif(not ROOT, reason="REMIT_CORPUS does not name a folder with real tools and calls")


def load(path):
    return json.loads((Path(ROOT) / path).read_text(encoding="utf-8"))


def lines(path):
    return map(json.loads, (Path(ROOT) / path).read_text(encoding="utf-8").splitlines())


def make(name, description, schema):
    return Tool.from_schema(name=name, description=description or name, schema=schema, handler=lambda a, ctx: a, effect=READ)


def airline():
    return Catalogue(
        make(one["function"]["name"], one["function"]["description"], one["function"]["parameters"])
        for one in load("taubench/tools-airline.json")
    )


def test_every_tool_of_real_catalogues_can_be_defined():
    count = 0
    for path in sorted((Path(ROOT) / "catalogues").glob("*.json")):
        found = [make(one["name"], one.get("description"), one["inputSchema"]) for one in load(path)["tools"]]
        assert len({one.contract for one in found}) == len(found)
        count += len(found)
    assert count == 184


def test_accepted_answers_of_a_function_calling_benchmark_are_accepted_and_canonical():
    checked = 0
    for case in lines("bfcl/single_turn.jsonl"):
        tools = {one["name"]: make(one["name"], one["description"], one["input_schema"]) for one in case["tools_json_schema"]}
        for answer in case.get("ground_truth") or []:
            for name, choices in answer.items():
                sent = {key: values[0] for key, values in choices.items() if values[0] != ""}
                text = json.dumps(sent)
                arguments = tools[name].check(text)
                if isinstance(arguments, Arguments):
                    checked += 1
                    assert parse(arguments.text).items() >= parse(text).items()
                    assert encode(parse(arguments.text)) == arguments.text
    assert checked > 200


def test_calls_that_a_real_model_made_are_accepted_unless_they_break_their_schema():
    catalogue, accepted, refused = airline(), 0, []
    for run in lines("taubench/gpt-4o-airline.jsonl"):
        for message in run.get("messages") or run.get("traj") or []:
            for call in message.get("tool_calls") or []:
                found = catalogue.get(call["function"]["name"]).check(call["function"]["arguments"])
                if isinstance(found, Arguments):
                    accepted += 1
                else:
                    refused.append(found)
    assert accepted > 400
    assert all(one and all(fault.path for fault in one) for one in refused)
