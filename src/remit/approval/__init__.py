"""Approvals: what a person is shown, who may decide, and what their own arguments mean."""

from __future__ import annotations

from remit.approval.build import Subject, build, build_question
from remit.approval.preview import default_preview, mask
from remit.approval.right import covers, may_decide

__all__ = ["Subject", "build", "build_question", "covers", "default_preview", "mask", "may_decide"]
