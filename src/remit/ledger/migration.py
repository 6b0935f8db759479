"""The tables, as the list of steps that make them: each has a name, and is never changed once it was released.

`remit_page` and `remit_payload` are the chain: a row each for what one commit appended to a run. Everything else is
rows that the events account for. What a commit touches is laid out so that it is little: pages lie in the order of
their runs, payloads in the order of the commits of all (`number`), and no index names what every commit changes in a
run's row. `last` is the sequence number of a page's last event; `kinds` and `times` are those of its events, with
spaces between; `opened` is what its commit declared of new operations and approvals; a payload is the events' JSON
texts, one a line.
Where a payload is bytes, it is that text compressed. `remit_run.forgotten_ms` and `remit_secret`: see `forget`.
There is no table for heads: one that lies in the file it speaks of is changed by whoever changes the file.
"""

from __future__ import annotations

__all__ = ["MIGRATIONS"]

MIGRATIONS: tuple[tuple[str, str], ...] = (
    (
        "runs, events, operations, approvals",
        """
CREATE TABLE remit_owner (id TEXT PRIMARY KEY, opened_ms INTEGER NOT NULL, batch INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE remit_run (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    root TEXT NOT NULL,
    agent TEXT NOT NULL,
    tenant TEXT NOT NULL,
    subject TEXT NOT NULL,
    conversation TEXT,
    request_id TEXT,
    request_digest TEXT,
    status TEXT NOT NULL CHECK (status IN ('queued', 'active', 'paused', 'ended')),
    host INTEGER NOT NULL,
    parent TEXT,
    owner TEXT,
    epoch INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    head TEXT NOT NULL,
    expires_ms INTEGER,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    forgotten_ms INTEGER
) STRICT;
CREATE TABLE remit_request (run INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
CREATE UNIQUE INDEX remit_run_request ON remit_run (tenant, subject, agent, request_id) WHERE request_id IS NOT NULL;
CREATE INDEX remit_run_status ON remit_run (status, number);
CREATE INDEX remit_run_owner ON remit_run (owner) WHERE status = 'active';
CREATE INDEX remit_run_parent ON remit_run (parent, number) WHERE parent IS NOT NULL;
CREATE INDEX remit_run_tenant ON remit_run (tenant, number);
CREATE INDEX remit_run_conversation ON remit_run (tenant, conversation, number) WHERE conversation IS NOT NULL;
CREATE INDEX remit_run_expiry ON remit_run (expires_ms) WHERE status = 'paused' AND expires_ms IS NOT NULL;

CREATE TABLE remit_page (
    run TEXT NOT NULL,
    last INTEGER NOT NULL,
    number INTEGER NOT NULL,
    kinds TEXT NOT NULL,
    times TEXT NOT NULL,
    opened TEXT NOT NULL,
    commitment BLOB NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (run, last)
) STRICT, WITHOUT ROWID;
CREATE TABLE remit_payload (page INTEGER PRIMARY KEY, salt BLOB NOT NULL, text ANY NOT NULL) STRICT;
CREATE TABLE remit_secret (id INTEGER PRIMARY KEY CHECK (id = 1), secret BLOB NOT NULL) STRICT;

CREATE TABLE remit_operation (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    subject TEXT NOT NULL,
    run TEXT NOT NULL,
    root TEXT NOT NULL,
    call TEXT NOT NULL,
    conversation TEXT,
    tool TEXT NOT NULL,
    contract TEXT NOT NULL,
    once_per TEXT NOT NULL,
    key TEXT NOT NULL,
    recovery TEXT NOT NULL,
    atomic INTEGER NOT NULL,
    window_s REAL,
    attempts INTEGER NOT NULL,
    settle_s REAL NOT NULL,
    timeout_s REAL NOT NULL,
    arguments TEXT NOT NULL,
    arguments_digest TEXT NOT NULL,
    author TEXT,
    state TEXT NOT NULL CHECK (
        state IN ('awaiting_approval', 'dispatched', 'unknown', 'succeeded', 'failed', 'closed')
    ),
    closed TEXT,
    attempt INTEGER NOT NULL,
    owner TEXT,
    approval TEXT,
    first_dispatched_ms INTEGER,
    not_after_ms INTEGER,
    outcome TEXT,
    settled_by TEXT,
    evidence TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX remit_operation_key ON remit_operation (key) WHERE state IN ('dispatched', 'unknown', 'succeeded');
CREATE INDEX remit_operation_run ON remit_operation (run, call);
CREATE INDEX remit_operation_conversation ON remit_operation (conversation, number) WHERE conversation IS NOT NULL;
CREATE INDEX remit_operation_state ON remit_operation (state, run);

CREATE TABLE remit_approval (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('approval', 'question')),
    tenant TEXT NOT NULL,
    requester TEXT NOT NULL,
    run TEXT NOT NULL,
    call TEXT NOT NULL,
    tool TEXT NOT NULL,
    contract TEXT NOT NULL,
    arguments TEXT NOT NULL,
    arguments_digest TEXT NOT NULL,
    shown TEXT NOT NULL,
    preview TEXT NOT NULL,
    reasons TEXT NOT NULL,
    label TEXT NOT NULL,
    policy TEXT NOT NULL,
    operation TEXT,
    author TEXT,
    scope TEXT NOT NULL,
    two_person INTEGER NOT NULL,
    expires_ms INTEGER,
    state TEXT NOT NULL CHECK (
        state IN ('pending', 'approved', 'denied', 'answered', 'expired', 'void', 'consumed')
    ),
    decided_by TEXT,
    decided_ms INTEGER,
    reason TEXT NOT NULL,
    edited TEXT,
    answer TEXT,
    created_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX remit_approval_run ON remit_approval (run, number);
CREATE INDEX remit_approval_state ON remit_approval (state, number);

CREATE TABLE remit_conversation (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    subject TEXT NOT NULL,
    agent TEXT NOT NULL,
    holder TEXT,
    last TEXT,
    label TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT;

CREATE TABLE remit_inbox (id INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL, text TEXT NOT NULL) STRICT;
CREATE INDEX remit_inbox_run ON remit_inbox (run, id);

CREATE TABLE remit_notice (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    conversation TEXT NOT NULL,
    run TEXT NOT NULL,
    call TEXT NOT NULL,
    tool TEXT NOT NULL,
    operation TEXT,
    outcome TEXT NOT NULL
) STRICT;
CREATE INDEX remit_notice_conversation ON remit_notice (tenant, conversation, id);

CREATE TABLE remit_spent (
    scope TEXT PRIMARY KEY,
    turns INTEGER NOT NULL DEFAULT 0,
    calls INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0,
    usd_micros INTEGER NOT NULL DEFAULT 0,
    approvals INTEGER NOT NULL DEFAULT 0,
    active_ms INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE remit_blob (digest TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT;
""",
    ),
)
