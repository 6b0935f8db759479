"""Whom a run may ask: the models that it recorded, as far as the agent of now has them.

Knows heads and names, no run's state. Invariant: a model is asked under the head that the run recorded, with nothing in
it changed but the model's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from remit.budget import context_window
from remit.loop.spec import RunSpec
from remit.types.event import RunStarted
from remit.types.ident import Wording
from remit.types.model import Model

__all__ = ["Roster"]


class Roster:
    """The models of one run by their identities, in the order in which they are asked.

    A recorded one that the agent does not have any more is passed over. If it was the run's first, the agent's own model
    of now takes its place.
    """

    def __init__(self, spec: RunSpec, started: RunStarted) -> None:
        today = {model.identity: model for model in (*reversed(spec.fallbacks), spec.model)}
        first = started.model if started.model in today else spec.model.identity
        names = dict.fromkeys((first, *(name for name in started.fallbacks if name in today)))
        self._started = started
        self._models = {name: today[name] for name in names}
        self._heads = {started.model: started.head}
        self._context_tokens = spec.context_tokens

    @property
    def identities(self) -> tuple[str, ...]:
        """Who may be asked, the first one first."""
        return tuple(self._models)

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Wire name -> our name, of the recorded tools."""
        return {tool.wire_name: tool.name for tool in self._started.tools}

    def model(self, identity: str) -> Model:
        """The model of that identity; the first one in the place of one that is not there."""
        return self._models.get(identity) or next(iter(self._models.values()))

    def head(self, model: Model) -> Wording:
        """The recorded head, naming this model."""
        head = self._heads.get(model.identity)
        if head is None:
            head = self._heads[model.identity] = model.wire.head_for(self._started.head, model.name)
        return head

    def is_too_long(self, model: Model, tokens: int) -> bool:
        """Whether a request of so many tokens surely does not fit into the model's context."""
        window = self._context_tokens or context_window(model.identity, tokens)
        return window is not None and tokens >= window
