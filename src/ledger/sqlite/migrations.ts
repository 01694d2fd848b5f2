// The ledger's tables, as numbered migrations (design section 5). They are the users' too: documented in
// docs/ledger.md, stable, to be queried with SQL.

/** Applied in order; `user_version` holds the number of those applied. Never edit one that was released. */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE destinations (
    id INTEGER PRIMARY KEY,
    sync TEXT NOT NULL,
    origin TEXT NOT NULL,
    org_id INTEGER NOT NULL,
    object_type TEXT NOT NULL,
    matching_property TEXT NOT NULL,
    UNIQUE (sync, origin, org_id, object_type, matching_property)
  ) STRICT;

  CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    sync TEXT NOT NULL,
    kind TEXT NOT NULL,
    mode TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    message TEXT,
    workflow_id TEXT NOT NULL,
    workflow_run_id TEXT NOT NULL,
    config TEXT NOT NULL,
    destination INTEGER REFERENCES destinations (id),
    key_fingerprint TEXT,
    source_columns TEXT,
    source_digest TEXT,
    rows_staged INTEGER NOT NULL DEFAULT 0,
    rows_read INTEGER,
    stage_fence INTEGER NOT NULL DEFAULT 0,
    batches INTEGER NOT NULL DEFAULT 0,
    warnings TEXT NOT NULL DEFAULT '[]',
    counts TEXT,
    opened_at TEXT NOT NULL,
    closed_at TEXT
  ) STRICT;
  CREATE UNIQUE INDEX runs_live ON runs (sync)
    WHERE mode = 'run' AND state IN ('running', 'paused', 'blocked');

  CREATE TABLE segments (
    run INTEGER NOT NULL REFERENCES runs (id),
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    fence INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'open',
    planned INTEGER NOT NULL,
    created INTEGER NOT NULL DEFAULT 0,
    updated INTEGER NOT NULL DEFAULT 0,
    rejected INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    requests INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run, first)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE items (
    run INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    line INTEGER NOT NULL,
    state TEXT NOT NULL,
    key TEXT,
    operation TEXT NOT NULL DEFAULT 'upsert',
    hash TEXT,
    batch INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    replayed INTEGER NOT NULL DEFAULT 0,
    in_doubt INTEGER NOT NULL DEFAULT 0,
    twin INTEGER,
    http_status INTEGER,
    record_id TEXT,
    request_id TEXT,
    verified TEXT,
    code TEXT,
    reason TEXT,
    "column" TEXT,
    field TEXT,
    value TEXT,
    detail TEXT,
    PRIMARY KEY (run, ordinal)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE payloads (
    run INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    raw TEXT NOT NULL,
    payload TEXT,
    PRIMARY KEY (run, ordinal)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX items_key ON items (run, key, ordinal);
  CREATE INDEX items_record ON items (run, record_id) WHERE record_id IS NOT NULL;
  CREATE INDEX items_twin ON items (run, ordinal) WHERE twin IS NOT NULL;

  CREATE TABLE accepted (
    destination INTEGER NOT NULL REFERENCES destinations (id),
    key TEXT NOT NULL,
    record_id TEXT,
    hash TEXT,
    run INTEGER NOT NULL,
    PRIMARY KEY (destination, key)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE requests (
    run INTEGER NOT NULL,
    batch INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    operation TEXT NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    items INTEGER NOT NULL,
    digest TEXT NOT NULL,
    sent_at TEXT NOT NULL,
    settled_at TEXT,
    status INTEGER,
    request_id TEXT,
    duration_ms REAL,
    PRIMARY KEY (run, batch, attempt)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX requests_unsettled ON requests (run, batch) WHERE settled_at IS NULL;

  CREATE VIEW books AS
    SELECT runs.id AS run, runs.sync, runs.rows_read, items.state, count(*) AS items
    FROM runs JOIN items ON items.run = runs.id
    GROUP BY runs.id, items.state;
  `,
  `
  CREATE TABLE streams (
    run INTEGER NOT NULL REFERENCES runs (id),
    stream TEXT NOT NULL,
    table_name TEXT,
    state TEXT NOT NULL,
    mode TEXT,
    requests INTEGER NOT NULL,
    read INTEGER NOT NULL,
    inserted INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    unchanged INTEGER NOT NULL,
    deleted INTEGER NOT NULL,
    misfits INTEGER,
    service_count INTEGER,
    table_count INTEGER,
    message TEXT,
    PRIMARY KEY (run, stream)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  ALTER TABLE runs ADD COLUMN watermark TEXT;
  CREATE INDEX runs_watermark ON runs (destination, id) WHERE watermark IS NOT NULL;
  `,
  `
  -- How a sync stands is asked every few seconds, and told without reading its runs.
  CREATE INDEX runs_of_sync ON runs (sync, id, state) WHERE mode = 'run';
  `,
]
