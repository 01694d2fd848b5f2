// The ledger's tables, as numbered migrations (design section 5). They are the users' too: documented in
// docs/ledger.md, stable, to be queried with SQL.

import { ACTION_TABLE } from './action-table.ts'
import { MOVE_TABLE } from './move-table.ts'
import { SCHEMA_CHANGE_TABLE } from './schema-change-table.ts'
import { ATTEMPT_VIEWS, CONFLICT_VIEWS, KEPT_VIEWS, SPARING_VIEWS } from './attempt-views.ts'
import { WATERMARKS, WATERMARKS_BEFORE } from './watermarks.ts'
import { LINK_TABLES } from './link-tables.ts'

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
  `
  -- Retries and reconciliations: what a run is for, what it found, and what it sealed.
  ALTER TABLE runs ADD COLUMN purpose TEXT NOT NULL DEFAULT 'sync';
  ALTER TABLE runs ADD COLUMN of_run INTEGER REFERENCES runs (id);
  ALTER TABLE runs ADD COLUMN properties TEXT;
  ALTER TABLE runs ADD COLUMN verified_through TEXT;
  UPDATE runs SET purpose = 'backfill' WHERE json_type(config, '$.backfill') = 'object';
  CREATE INDEX runs_of ON runs (of_run, id) WHERE of_run IS NOT NULL;
  CREATE INDEX runs_reconciled ON runs (sync, id) WHERE purpose = 'reconcile';

  ALTER TABLE items ADD COLUMN of_ordinal INTEGER;
  CREATE INDEX items_of ON items (run, of_ordinal) WHERE of_ordinal IS NOT NULL;
  ALTER TABLE accepted ADD COLUMN marks TEXT;
  ALTER TABLE streams ADD COLUMN place TEXT;

  CREATE TABLE corrections (
    run INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    correction INTEGER NOT NULL,
    raw TEXT NOT NULL,
    PRIMARY KEY (run, ordinal, correction)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE differences (
    run INTEGER NOT NULL,
    number INTEGER NOT NULL,
    stream TEXT NOT NULL,
    -- Hash of the key, or of the record id of a mirror: the record within its stream.
    subject TEXT NOT NULL,
    key TEXT,
    record_id TEXT,
    ordinal INTEGER,
    kind TEXT NOT NULL,
    field TEXT,
    whose TEXT NOT NULL,
    ours TEXT,
    theirs TEXT,
    repaired INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run, number)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX differences_subject ON differences (run, subject, stream, kind, repaired);
  CREATE INDEX differences_ordinal ON differences (run, ordinal) WHERE ordinal IS NOT NULL;

  CREATE TABLE manifests (
    run INTEGER PRIMARY KEY REFERENCES runs (id),
    sync TEXT NOT NULL,
    body TEXT NOT NULL,
    digest TEXT NOT NULL,
    signature TEXT
  ) STRICT;
  CREATE INDEX manifests_sync ON manifests (sync, run);

  CREATE VIEW results AS
    SELECT runs.sync, items.run, items.ordinal, items.line, items.key, items.state, items.record_id,
      items.http_status, items.code, items.reason, items."column", items.field, items.value, items.detail,
      items.request_id, items.attempts, items.replayed, items.in_doubt, items.verified,
      runs.purpose, runs.of_run, items.of_ordinal,
      (SELECT max(again.run) FROM runs AS retry CROSS JOIN items AS again INDEXED BY items_of
         ON again.run = retry.id AND again.of_ordinal = items.ordinal
       WHERE retry.of_run = items.run AND retry.mode = 'run' AND again.state IN ('created', 'updated', 'unchanged')) AS mended_by
    FROM items JOIN runs ON runs.id = items.run
    WHERE runs.mode = 'run';

  CREATE VIEW rejects AS
    SELECT results.*, payloads.raw FROM results LEFT JOIN payloads USING (run, ordinal)
    WHERE (results.state IN ('invalid', 'rejected', 'failed', 'unsent') OR results.verified <> 'equal')
      AND results.mended_by IS NULL
      AND NOT EXISTS (SELECT 1 FROM accepted
        WHERE accepted.destination = (SELECT destination FROM runs WHERE id = results.run)
          AND accepted.key = results.key AND accepted.run > results.run AND accepted.hash IS NOT NULL);

  CREATE VIEW in_doubt AS
    SELECT * FROM results
    WHERE in_doubt = 1 AND coalesce(verified, '') <> 'equal' AND NOT EXISTS (SELECT 1 FROM accepted
      WHERE accepted.destination = (SELECT destination FROM runs WHERE id = results.run)
        AND accepted.key = results.key AND accepted.run > results.run AND accepted.hash IS NOT NULL);

  CREATE VIEW last_accepted AS
    SELECT destinations.sync, destinations.origin, destinations.org_id, destinations.object_type,
      destinations.matching_property, accepted.destination, accepted.key, accepted.record_id, accepted.hash, accepted.run
    FROM accepted JOIN destinations ON destinations.id = accepted.destination;
  `,
  `
  ALTER TABLE streams ADD COLUMN older INTEGER;
  ALTER TABLE streams ADD COLUMN reverted INTEGER;
  ALTER TABLE streams ADD COLUMN differs INTEGER;
  `,
  `
  -- What was read back otherwise than it was sent: known again when it is sent once more.
  ALTER TABLE items ADD COLUMN normalised INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE accepted ADD COLUMN read_back TEXT;
  ALTER TABLE accepted ADD COLUMN read_back_run INTEGER;
  `,
  `
  -- What tells one project from another where they share a Temporal namespace.
  CREATE TABLE project (id TEXT NOT NULL) STRICT;
  INSERT INTO project VALUES (lower(hex(randomblob(4))));
  `,
  `
  -- The key as the source has it, where it is sent otherwise; and what else is wrong with an invalid row (JSON).
  ALTER TABLE items ADD COLUMN raw_key TEXT;
  ALTER TABLE items ADD COLUMN more TEXT;
  CREATE INDEX items_raw_key ON items (run, ordinal) WHERE raw_key IS NOT NULL;
  `,
  `
  -- What tells a value that the service keeps in its own form from one that it did not take: what was sent before, and what
  -- was seen of it.
  ALTER TABLE accepted ADD COLUMN last_marks TEXT;
  ALTER TABLE accepted ADD COLUMN last_run INTEGER;
  ALTER TABLE accepted ADD COLUMN seen TEXT;
  ALTER TABLE accepted ADD COLUMN normalised INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- Keys of one record: what is written under one of them is written over the others.
  CREATE INDEX accepted_record ON accepted (destination, record_id) WHERE record_id IS NOT NULL;
  `,
  ATTEMPT_VIEWS,
  `
  -- The key of a record in the form of the answer, by which it is found where the service keeps that form.
  ALTER TABLE items ADD COLUMN answered_key TEXT;
  `,
  `
  -- The records that rows of a run were found under.
  CREATE INDEX differences_record ON differences (run, record_id) WHERE ordinal IS NOT NULL AND record_id IS NOT NULL;
  `,
  `
  -- The last run before the ledger was put back from a backup: what was accepted until then may be older than what the service holds.
  ALTER TABLE project ADD COLUMN restored_after INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- What was read of an extra record, as a digest: another one before it is deleted shows that it has changed.
  ALTER TABLE differences ADD COLUMN version TEXT;
  `,
  `
  -- The records of a key that has several, or may have (JSON), until all but one were seen to be gone.
  ALTER TABLE accepted ADD COLUMN records TEXT;
  CREATE INDEX accepted_several ON accepted (destination) WHERE records IS NOT NULL;
  `,
  `
  -- Rows that the mode of an import does not write.
  ALTER TABLE segments ADD COLUMN spared INTEGER NOT NULL DEFAULT 0;
  `,
  SPARING_VIEWS,
  LINK_TABLES,
  `
  -- Records whose rows are gone from the source, or ask for it, and what became of them.
  CREATE TABLE removals (
    run INTEGER NOT NULL,
    number INTEGER NOT NULL,
    key TEXT NOT NULL,
    record_id TEXT,
    cause TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    in_doubt INTEGER NOT NULL DEFAULT 0,
    http_status INTEGER,
    code TEXT,
    reason TEXT,
    detail TEXT,
    PRIMARY KEY (run, number)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX removals_key ON removals (run, key);
  `,
  `
  -- What is known of links to a record, and from it, for the day that it is removed.
  CREATE INDEX known_links_target_record ON known_links (target_id) WHERE state = 'linked';
  CREATE INDEX known_links_source_record ON known_links (source_id) WHERE state = 'linked';
  `,
  `
  -- The links of a run by the records of their ends: where one of two that cannot be next to each other takes the other's place.
  CREATE INDEX links_target_id ON links (run, target_id) WHERE target_id IS NOT NULL;
  CREATE INDEX links_source_id ON links (run, source_id) WHERE source_id IS NOT NULL;
  `,
  `
  -- Links that are linked, and that the source did not ask for when it was read.
  ALTER TABLE known_links ADD COLUMN left_source INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- What the record of a row held right before it was sent, and what was sent: JSON objects by property.
  CREATE TABLE before_images (
    run INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    record_id TEXT,
    "before" TEXT,
    sent TEXT NOT NULL,
    PRIMARY KEY (run, ordinal)
  ) STRICT, WITHOUT ROWID;
  `,
  CONFLICT_VIEWS,
  `
  -- What a record held right before it was deleted: a JSON object by property.
  ALTER TABLE removals ADD COLUMN "before" TEXT;
  `,
  KEPT_VIEWS,
  `
  -- Values that a row did not write over, as a JSON list, how many they are, and the baseline hashes that it leaves behind.
  ALTER TABLE before_images ADD COLUMN kept TEXT;
  ALTER TABLE before_images ADD COLUMN kept_values INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE before_images ADD COLUMN marks TEXT;
  `,
  `
  -- What the answer to a row showed of its record: values in other forms than they were sent, and the time of the change.
  ALTER TABLE before_images ADD COLUMN "after" TEXT;
  `,
  `
  -- How many values of others a row writes over that the sync has not written before.
  ALTER TABLE before_images ADD COLUMN written_over INTEGER NOT NULL DEFAULT 0;
  `,
  ACTION_TABLE,
  SCHEMA_CHANGE_TABLE,
  WATERMARKS,
  MOVE_TABLE,
  WATERMARKS_BEFORE,
]
