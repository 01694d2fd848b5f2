// The ledger's tables, written once: words in capitals that are no SQL are an engine's (`SchemaWords`). They are the users' too:
// documented in docs/ledger.md, stable, to be queried with SQL. Indexes and views that an engine needs in its own form are in its folder.

import { DELETION_STATES, ITEM_STATES } from '../../core/domain/outcomes.ts'
import { outcomeSql, sqlList } from '../rows/values.ts'

/** The version that the first migration makes. Builds before it counted to 37: a ledger of theirs has a smaller one. */
export const FIRST_SCHEMA = 101

/** The version of a ledger to which all migrations were applied. */
export const newestSchema = (migrations: readonly string[]): number =>
  FIRST_SCHEMA + migrations.length - 1

/** What becomes of a ledger with a smaller version. @param keep the command that makes a copy of it */
export const unreadableHint = (keep: string): string =>
  `\`${keep}\` keeps a copy of it; then name a new place under \`ledger:\`, where the next run makes a new ledger`

/** Words of an engine for types, keys and the ends of tables. */
export interface SchemaWords {
  readonly FLAG: string
  readonly BIG: string
  readonly REAL: string
  readonly JSON: string
  readonly INSTANT: string
  /** A text that is sorted by its bytes, whatever the language of the database. */
  readonly SORTED: string
  /** The number of a run: those of plans are negative. */
  readonly RUN_NUMBER: string
  /** A number that the database gives. */
  readonly NUMBERED: string
  readonly DIFFERENCE_NUMBER: string
  /** Keys of rows have no bound, and fit the primary key of one engine only. */
  readonly ACCEPTED_KEY: string
  readonly WITHDRAWN_KEY: string
  readonly KNOWN_KEY: string
  /** Ends of tables, with how full a page gets in percent; `ROWS` of those with one number as key. */
  readonly ROWS: string
  readonly ROWS_50: string
  readonly KEYED: string
  readonly KEYED_50: string
  readonly KEYED_70: string
  readonly KEYED_90: string
}

/** A schema in the words of an engine. */
export const inWords = (text: string, words: SchemaWords): string =>
  text.replaceAll(/\b[A-Z][A-Z_\d]+\b/g, (word) => words[word as keyof SchemaWords] ?? word)

export const TABLES = `
  CREATE TABLE destinations (
    id NUMBERED,
    sync TEXT NOT NULL,
    origin TEXT NOT NULL,
    org_id BIG NOT NULL,
    object_type TEXT NOT NULL,
    matching_property TEXT NOT NULL,
    UNIQUE (sync, origin, org_id, object_type, matching_property)
  ) ROWS;

  CREATE TABLE runs (
    id RUN_NUMBER,
    sync TEXT NOT NULL,
    kind TEXT NOT NULL,
    mode TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    message TEXT,
    workflow_id TEXT NOT NULL,
    workflow_run_id TEXT NOT NULL,
    config JSON NOT NULL,
    destination INTEGER REFERENCES destinations (id),
    key_fingerprint TEXT,
    source_columns JSON,
    source_digest TEXT,
    rows_staged INTEGER NOT NULL DEFAULT 0,
    rows_read INTEGER,
    stage_fence INTEGER NOT NULL DEFAULT 0,
    batches INTEGER NOT NULL DEFAULT 0,
    warnings JSON NOT NULL DEFAULT '[]',
    counts JSON,
    opened_at INSTANT NOT NULL,
    closed_at INSTANT,
    watermark JSON,
    -- What a run is for, what it found, and what it sealed.
    purpose TEXT NOT NULL DEFAULT 'sync',
    of_run INTEGER REFERENCES runs (id),
    properties JSON,
    verified_through INSTANT
  ) ROWS_50;
  CREATE UNIQUE INDEX runs_live ON runs (sync)
    WHERE mode = 'run' AND state IN ('running', 'paused', 'blocked');
  CREATE INDEX runs_watermark ON runs (destination, id) WHERE watermark IS NOT NULL;
  -- How a sync stands is asked every few seconds, and told without reading its runs.
  CREATE INDEX runs_of_sync ON runs (sync, id, state) WHERE mode = 'run';
  CREATE INDEX runs_of ON runs (of_run, id) WHERE of_run IS NOT NULL;
  CREATE INDEX runs_reconciled ON runs (sync, id) WHERE purpose = 'reconcile';

  CREATE TABLE segments (
    run INTEGER NOT NULL REFERENCES runs (id),
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    fence INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'open',
    planned INTEGER NOT NULL,
    created INTEGER NOT NULL DEFAULT 0,
    updated INTEGER NOT NULL DEFAULT 0,
    skipped INTEGER NOT NULL DEFAULT 0,
    rejected INTEGER NOT NULL DEFAULT 0,
    requests INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run, first)
  ) KEYED_50;

  CREATE TABLE items (
    run INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    line INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN (${sqlList(ITEM_STATES)})),
    key TEXT,
    operation TEXT NOT NULL DEFAULT 'upsert',
    hash TEXT,
    batch INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    replayed FLAG NOT NULL DEFAULT 0,
    in_doubt FLAG NOT NULL DEFAULT 0,
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
    of_ordinal INTEGER,
    -- Whether it was read back otherwise than it was sent: known again when it is sent once more.
    normalised FLAG NOT NULL DEFAULT 0,
    -- The key as the source has it, where it is sent otherwise.
    raw_key TEXT,
    -- What else is wrong with an invalid row: a list as text.
    more TEXT,
    -- The key of a record in the form of the answer, by which it is found where the service keeps that form.
    answered_key TEXT,
    -- The value of the watermark's column in a row, after 9 characters for column and order, as a text that sorts as the values do.
    watermark SORTED,
    PRIMARY KEY (run, ordinal)
  ) KEYED_70;
  CREATE INDEX items_twin ON items (run, ordinal) WHERE twin IS NOT NULL;
  CREATE INDEX items_raw_key ON items (run, ordinal) WHERE raw_key IS NOT NULL;

  CREATE TABLE payloads (
    run INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    raw TEXT NOT NULL,
    payload TEXT,
    PRIMARY KEY (run, ordinal)
  ) KEYED;

  CREATE TABLE accepted (
    destination INTEGER NOT NULL REFERENCES destinations (id),
    key TEXT NOT NULL,
    record_id TEXT,
    hash TEXT,
    run INTEGER NOT NULL,
    marks TEXT,
    read_back TEXT,
    read_back_run INTEGER,
    -- What tells a value that the service keeps in its own form from one that it did not take: what was sent before, and what was
    -- seen of it.
    last_marks TEXT,
    last_run INTEGER,
    seen TEXT,
    normalised FLAG NOT NULL DEFAULT 0,
    -- The records of a key that has several, or may have, until all but one were seen to be gone: a list as text.
    records TEXT,
    watermark SORTED ACCEPTED_KEY
  ) KEYED_70;
  CREATE INDEX accepted_several ON accepted (destination) WHERE records IS NOT NULL;

  -- Watermarks of rows that asked for the deletion of their records, and the run that read the row; what a later one has accepted
  -- counts in its place.
  CREATE TABLE withdrawn_keys (
    destination INTEGER NOT NULL REFERENCES destinations (id),
    key TEXT NOT NULL,
    watermark SORTED NOT NULL,
    run INTEGER NOT NULL WITHDRAWN_KEY
  ) KEYED;

  CREATE TABLE requests (
    run INTEGER NOT NULL,
    batch INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    operation TEXT NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    items INTEGER NOT NULL,
    digest TEXT NOT NULL,
    sent_at INSTANT NOT NULL,
    settled_at INSTANT,
    status INTEGER,
    request_id TEXT,
    duration_ms REAL,
    PRIMARY KEY (run, batch, attempt)
  ) KEYED_70;

  CREATE TABLE streams (
    run INTEGER NOT NULL REFERENCES runs (id),
    stream SORTED NOT NULL,
    table_name TEXT,
    state TEXT NOT NULL,
    mode TEXT,
    requests BIG NOT NULL DEFAULT 0,
    read BIG NOT NULL DEFAULT 0,
    inserted BIG NOT NULL DEFAULT 0,
    changed BIG NOT NULL DEFAULT 0,
    unchanged BIG NOT NULL DEFAULT 0,
    deleted BIG NOT NULL DEFAULT 0,
    misfits BIG,
    service_count BIG,
    table_count BIG,
    message TEXT,
    place TEXT,
    older BIG NOT NULL DEFAULT 0,
    reverted BIG NOT NULL DEFAULT 0,
    differs BIG,
    PRIMARY KEY (run, stream)
  ) KEYED_50;

  -- What changed at the object types of mirrors: noted before a table is changed, ended after.
  CREATE TABLE schema_changes (
    run INTEGER NOT NULL,
    stream TEXT NOT NULL,
    number INTEGER NOT NULL,
    sync TEXT NOT NULL,
    property TEXT NOT NULL,
    kind TEXT NOT NULL,
    type_before TEXT,
    type_now TEXT,
    handling TEXT NOT NULL,
    column_names TEXT NOT NULL,
    found_at INSTANT NOT NULL,
    done_at INSTANT,
    PRIMARY KEY (run, stream, number)
  ) KEYED;
  CREATE INDEX schema_changes_sync ON schema_changes (sync, run);

  CREATE TABLE corrections (
    run INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    correction INTEGER NOT NULL,
    raw TEXT NOT NULL,
    PRIMARY KEY (run, ordinal, correction)
  ) KEYED;

  CREATE TABLE differences (
    run INTEGER NOT NULL,
    -- In the order in which they were noted, with gaps.
    number DIFFERENCE_NUMBER,
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
    repaired FLAG NOT NULL DEFAULT 0,
    -- What was read of an extra record, as a digest: another one before it is deleted shows that it has changed.
    version TEXT,
    PRIMARY KEY (run, number)
  ) KEYED_90;

  CREATE TABLE manifests (
    run INTEGER PRIMARY KEY REFERENCES runs (id),
    sync TEXT NOT NULL,
    body TEXT NOT NULL,
    digest TEXT NOT NULL,
    signature TEXT
  ) ROWS;
  CREATE INDEX manifests_sync ON manifests (sync, run);

  -- Records whose rows are gone from the source, or ask for it, and what became of them.
  CREATE TABLE removals (
    run INTEGER NOT NULL,
    number INTEGER NOT NULL,
    key TEXT NOT NULL,
    record_id TEXT,
    cause TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN (${sqlList(DELETION_STATES)})),
    attempts INTEGER NOT NULL DEFAULT 0,
    in_doubt FLAG NOT NULL DEFAULT 0,
    http_status INTEGER,
    code TEXT,
    reason TEXT,
    detail TEXT,
    -- What a record held right before it was deleted: an object by property.
    "before" TEXT,
    -- The watermark that the key had right before: an undo gives it back. Empty: none.
    watermark SORTED,
    PRIMARY KEY (run, number)
  ) KEYED;

  -- What the record of a row held right before it was sent, and what was sent: objects by property.
  CREATE TABLE before_images (
    run INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    record_id TEXT,
    "before" TEXT,
    sent TEXT NOT NULL,
    -- Values that a row did not write over, as a list, how many they are, and the baseline hashes that it leaves behind.
    kept TEXT,
    kept_values INTEGER NOT NULL DEFAULT 0,
    marks TEXT,
    -- What the answer to a row showed of its record: values in other forms than they were sent, and the time of the change.
    "after" TEXT,
    -- How many values of others a row writes over that the sync has not written before.
    written_over INTEGER NOT NULL DEFAULT 0,
    -- As in removals.
    watermark SORTED,
    PRIMARY KEY (run, ordinal)
  ) KEYED;

  -- What people did to runs and schedules: written before it is carried out, completed after.
  CREATE TABLE actions (
    number NUMBERED,
    began_at INSTANT NOT NULL,
    ended_at INSTANT,
    who TEXT NOT NULL,
    via TEXT NOT NULL,
    action TEXT NOT NULL,
    sync TEXT NOT NULL,
    run INTEGER,
    details TEXT,
    token TEXT UNIQUE,
    state TEXT NOT NULL,
    result TEXT,
    workflow_id TEXT
  ) ROWS;
  CREATE INDEX actions_began ON actions (began_at);
  CREATE INDEX actions_sync ON actions (sync, number);
  CREATE INDEX actions_run ON actions (run, number) WHERE run IS NOT NULL;
  CREATE INDEX actions_workflow ON actions (workflow_id) WHERE workflow_id IS NOT NULL;

  -- The ledger that this one was filled from, and the one that it was moved to.
  CREATE TABLE moves (
    id TEXT NOT NULL,
    way TEXT NOT NULL,
    place TEXT NOT NULL,
    state TEXT NOT NULL,
    position TEXT,
    began_at INSTANT NOT NULL,
    ended_at INSTANT,
    PRIMARY KEY (id, way)
  ) KEYED;

  CREATE VIEW books AS
    SELECT runs.id AS run, runs.sync, runs.rows_read, ${outcomeSql('items.state')} AS outcome, items.state, count(*) AS items
    FROM runs JOIN items ON items.run = runs.id
    GROUP BY runs.id, items.state;

  CREATE VIEW deletions AS
    SELECT runs.sync, removals.run, removals.number, removals.key, removals.record_id, removals.cause,
      ${outcomeSql('removals.state')} AS outcome, removals.state, removals.attempts, removals.in_doubt, removals.http_status,
      removals.code, removals.reason, removals.detail, removals."before", removals.watermark
    FROM removals JOIN runs ON runs.id = removals.run
    WHERE runs.mode = 'run';

  CREATE VIEW last_accepted AS
    SELECT destinations.sync, destinations.origin, destinations.org_id, destinations.object_type,
      destinations.matching_property, accepted.destination, accepted.key, accepted.record_id, accepted.hash, accepted.run
    FROM accepted JOIN destinations ON destinations.id = accepted.destination;
`
