"""Workflows: a path that is known, as a plain async function whose steps pass the gate and are recorded."""

from __future__ import annotations

from remit.workflow.definition import Workflow, workflow
from remit.workflow.flow import Flow
from remit.workflow.step import StepFailed, Undoing, undo

__all__ = ["Flow", "StepFailed", "Undoing", "Workflow", "undo", "workflow"]
