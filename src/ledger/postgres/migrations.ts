// The ledger's tables, as numbered migrations: those of the SQLite ledger, with PostgreSQL's types. They are the users'
// too: documented in docs/ledger.md, stable, to be queried with SQL.
// Keys and record ids have no bound, entries of an index do (2,704 bytes): their indexes hold 64 bits of hash. Two keys of
// one hash do no harm in `items`; in `accepted` the later one takes the other's place, whose row is then sent again.
// Whatever is asked of a large table can be answered by one index only: tables fill faster than the planner's figures of
// them follow, and where it has a choice it would sooner or later read a whole run for each of its rows. So the run is
// part of the hash in the indexes by key and by record, and the ordinal in them is of another type.

import { ACTION_TABLE } from './action-table.ts'
import { MOVE_TABLE } from './move-table.ts'
import { SCHEMA_CHANGE_TABLE } from './schema-change-table.ts'
import { ATTEMPT_VIEWS, CONFLICT_VIEWS, KEPT_VIEWS, SPARING_VIEWS } from './attempt-views.ts'
import { REPLICA_IDENTITY } from './replica-identity.ts'
import { WATERMARKS, WATERMARKS_BEFORE } from './watermarks.ts'
import { LINK_TABLES } from './link-tables.ts'

/** Applied in order, in the ledger's own schema; `schema_version` holds their number. Never edit one that was released. */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE destinations (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sync text NOT NULL,
    origin text NOT NULL,
    org_id bigint NOT NULL,
    object_type text NOT NULL,
    matching_property text NOT NULL,
    UNIQUE (sync, origin, org_id, object_type, matching_property)
  );

  CREATE TABLE runs (
    id integer PRIMARY KEY,
    sync text NOT NULL,
    kind text NOT NULL,
    mode text NOT NULL,
    state text NOT NULL,
    reason text,
    message text,
    workflow_id text NOT NULL,
    workflow_run_id text NOT NULL,
    config json NOT NULL,
    destination integer REFERENCES destinations (id),
    key_fingerprint text,
    source_columns json,
    source_digest text,
    rows_staged integer NOT NULL DEFAULT 0,
    rows_read integer,
    stage_fence integer NOT NULL DEFAULT 0,
    batches integer NOT NULL DEFAULT 0,
    warnings json NOT NULL DEFAULT '[]',
    counts json,
    opened_at timestamptz NOT NULL,
    closed_at timestamptz
  ) WITH (fillfactor = 50);
  CREATE UNIQUE INDEX runs_live ON runs (sync)
    WHERE mode = 'run' AND state IN ('running', 'paused', 'blocked');

  CREATE TABLE segments (
    run integer NOT NULL REFERENCES runs (id),
    first integer NOT NULL,
    last integer NOT NULL,
    fence integer NOT NULL DEFAULT 0,
    state text NOT NULL DEFAULT 'open',
    planned integer NOT NULL,
    created integer NOT NULL DEFAULT 0,
    updated integer NOT NULL DEFAULT 0,
    rejected integer NOT NULL DEFAULT 0,
    failed integer NOT NULL DEFAULT 0,
    requests integer NOT NULL DEFAULT 0,
    PRIMARY KEY (run, first)
  ) WITH (fillfactor = 50);

  CREATE TABLE items (
    run integer NOT NULL,
    ordinal integer NOT NULL,
    line integer NOT NULL,
    state text NOT NULL,
    key text,
    operation text NOT NULL DEFAULT 'upsert',
    hash text,
    batch integer,
    attempts integer NOT NULL DEFAULT 0,
    replayed smallint NOT NULL DEFAULT 0,
    in_doubt smallint NOT NULL DEFAULT 0,
    twin integer,
    http_status integer,
    record_id text,
    request_id text,
    verified text,
    code text,
    reason text,
    "column" text,
    field text,
    value text,
    detail text,
    PRIMARY KEY (run, ordinal)
  ) WITH (fillfactor = 70);
  CREATE TABLE payloads (
    run integer NOT NULL,
    ordinal integer NOT NULL,
    raw text NOT NULL,
    payload text,
    PRIMARY KEY (run, ordinal)
  );
  CREATE INDEX items_key ON items (hashtextextended(key, run), (ordinal::bigint));
  CREATE INDEX items_record ON items (hashtextextended(record_id, run), (ordinal::bigint))
    WHERE record_id IS NOT NULL;
  CREATE INDEX items_twin ON items (run, ordinal) WHERE twin IS NOT NULL;

  CREATE TABLE accepted (
    destination integer NOT NULL REFERENCES destinations (id),
    key text NOT NULL,
    record_id text,
    hash text,
    run integer NOT NULL
  ) WITH (fillfactor = 70);
  CREATE UNIQUE INDEX accepted_key ON accepted (destination, hashtextextended(key, 0));

  CREATE TABLE requests (
    run integer NOT NULL,
    batch integer NOT NULL,
    attempt integer NOT NULL,
    operation text NOT NULL,
    first integer NOT NULL,
    last integer NOT NULL,
    items integer NOT NULL,
    digest text NOT NULL,
    sent_at timestamptz NOT NULL,
    settled_at timestamptz,
    status integer,
    request_id text,
    duration_ms double precision,
    PRIMARY KEY (run, batch, attempt)
  ) WITH (fillfactor = 70);

  CREATE VIEW books AS
    SELECT runs.id AS run, runs.sync, runs.rows_read, items.state, count(*) AS items
    FROM runs JOIN items ON items.run = runs.id
    GROUP BY runs.id, items.state;

  -- What a crash of the server takes from the quotas is learned again in a minute.
  CREATE UNLOGGED TABLE quota (
    org text PRIMARY KEY,
    state text NOT NULL,
    changed_at timestamptz NOT NULL
  ) WITH (fillfactor = 50);
  CREATE UNLOGGED TABLE quota_keys (
    key text PRIMARY KEY,
    org text NOT NULL
  );
  `,
  `
  CREATE TABLE streams (
    run integer NOT NULL REFERENCES runs (id),
    -- In the order of their bytes, whatever the language of the database.
    stream text COLLATE "C" NOT NULL,
    table_name text,
    state text NOT NULL,
    mode text,
    requests bigint NOT NULL,
    read bigint NOT NULL,
    inserted bigint NOT NULL,
    changed bigint NOT NULL,
    unchanged bigint NOT NULL,
    deleted bigint NOT NULL,
    misfits bigint,
    service_count bigint,
    table_count bigint,
    message text,
    PRIMARY KEY (run, stream)
  ) WITH (fillfactor = 50);
  `,
  `
  ALTER TABLE runs ADD COLUMN watermark json;
  CREATE INDEX runs_watermark ON runs (destination, id) WHERE watermark IS NOT NULL;
  `,
  `
  -- How a sync stands is asked every few seconds, and told without reading its runs.
  CREATE INDEX runs_of_sync ON runs (sync, id, state) WHERE mode = 'run';
  `,
  `
  -- Retries and reconciliations: what a run is for, what it found, and what it sealed.
  ALTER TABLE runs ADD COLUMN purpose text NOT NULL DEFAULT 'sync';
  ALTER TABLE runs ADD COLUMN of_run integer REFERENCES runs (id);
  ALTER TABLE runs ADD COLUMN properties json;
  ALTER TABLE runs ADD COLUMN verified_through timestamptz;
  UPDATE runs SET purpose = 'backfill' WHERE json_typeof(config -> 'backfill') = 'object';
  CREATE INDEX runs_of ON runs (of_run, id) WHERE of_run IS NOT NULL;
  CREATE INDEX runs_reconciled ON runs (sync, id) WHERE purpose = 'reconcile';

  ALTER TABLE items ADD COLUMN of_ordinal integer;
  CREATE INDEX items_of ON items (((run::bigint << 32) | of_ordinal)) WHERE of_ordinal IS NOT NULL;
  ALTER TABLE accepted ADD COLUMN marks text;
  ALTER TABLE streams ADD COLUMN place text;

  CREATE TABLE corrections (
    run integer NOT NULL,
    ordinal integer NOT NULL,
    correction integer NOT NULL,
    raw text NOT NULL,
    PRIMARY KEY (run, ordinal, correction)
  );

  CREATE TABLE differences (
    run integer NOT NULL,
    -- In the order in which they were noted, with gaps.
    number bigint GENERATED ALWAYS AS IDENTITY,
    stream text NOT NULL,
    -- Hash of the key, or of the record id of a mirror: the record within its stream.
    subject text NOT NULL,
    key text,
    record_id text,
    ordinal integer,
    kind text NOT NULL,
    field text,
    whose text NOT NULL,
    ours text,
    theirs text,
    repaired smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (run, number)
  ) WITH (fillfactor = 90);
  CREATE INDEX differences_subject ON differences (hashtextextended(subject, run));
  CREATE INDEX differences_ordinal ON differences (((run::bigint << 32) | ordinal)) WHERE ordinal IS NOT NULL;

  CREATE TABLE manifests (
    run integer PRIMARY KEY REFERENCES runs (id),
    sync text NOT NULL,
    body text NOT NULL,
    digest text NOT NULL,
    signature text
  );
  CREATE INDEX manifests_sync ON manifests (sync, run);

  CREATE VIEW results AS
    SELECT runs.sync, items.run, items.ordinal, items.line, items.key, items.state, items.record_id,
      items.http_status, items.code, items.reason, items."column", items.field, items.value, items.detail,
      items.request_id, items.attempts, items.replayed, items.in_doubt, items.verified,
      runs.purpose, runs.of_run, items.of_ordinal,
      (SELECT max(again.run) FROM runs AS retry JOIN items AS again
         ON ((again.run::bigint << 32) | again.of_ordinal) = ((retry.id::bigint << 32) | items.ordinal)
           AND again.of_ordinal IS NOT NULL
       WHERE retry.of_run = items.run AND retry.mode = 'run' AND again.state IN ('created', 'updated', 'unchanged')) AS mended_by
    FROM items JOIN runs ON runs.id = items.run
    WHERE runs.mode = 'run';

  CREATE VIEW rejects AS
    SELECT results.*, payloads.raw FROM results LEFT JOIN payloads USING (run, ordinal)
    WHERE (results.state IN ('invalid', 'rejected', 'failed', 'unsent') OR results.verified <> 'equal')
      AND results.mended_by IS NULL
      AND NOT EXISTS (SELECT 1 FROM accepted
        WHERE accepted.destination = (SELECT destination FROM runs WHERE id = results.run)
          AND hashtextextended(accepted.key, 0) = hashtextextended(results.key, 0)
          AND accepted.key = results.key AND accepted.run > results.run AND accepted.hash IS NOT NULL);

  CREATE VIEW in_doubt AS
    SELECT * FROM results
    WHERE in_doubt = 1 AND coalesce(verified, '') <> 'equal' AND NOT EXISTS (SELECT 1 FROM accepted
      WHERE accepted.destination = (SELECT destination FROM runs WHERE id = results.run)
        AND hashtextextended(accepted.key, 0) = hashtextextended(results.key, 0)
        AND accepted.key = results.key AND accepted.run > results.run AND accepted.hash IS NOT NULL);

  CREATE VIEW last_accepted AS
    SELECT destinations.sync, destinations.origin, destinations.org_id, destinations.object_type,
      destinations.matching_property, accepted.destination, accepted.key, accepted.record_id, accepted.hash, accepted.run
    FROM accepted JOIN destinations ON destinations.id = accepted.destination;
  `,
  `
  ALTER TABLE streams ADD COLUMN older bigint;
  ALTER TABLE streams ADD COLUMN reverted bigint;
  ALTER TABLE streams ADD COLUMN differs bigint;
  `,
  `
  -- What was read back otherwise than it was sent: known again when it is sent once more.
  ALTER TABLE items ADD COLUMN normalised smallint NOT NULL DEFAULT 0;
  ALTER TABLE accepted ADD COLUMN read_back text;
  ALTER TABLE accepted ADD COLUMN read_back_run integer;
  `,
  `
  -- What tells one project from another where they share a Temporal namespace.
  CREATE TABLE project (id text NOT NULL);
  INSERT INTO project VALUES (left(replace(gen_random_uuid()::text, '-', ''), 8));
  `,
  `
  -- The key as the source has it, where it is sent otherwise; and what else is wrong with an invalid row (JSON).
  ALTER TABLE items ADD COLUMN raw_key text;
  ALTER TABLE items ADD COLUMN more text;
  CREATE INDEX items_raw_key ON items (run, ordinal) WHERE raw_key IS NOT NULL;
  `,
  `
  -- What tells a value that the service keeps in its own form from one that it did not take: what was sent before, and what
  -- was seen of it.
  ALTER TABLE accepted ADD COLUMN last_marks text;
  ALTER TABLE accepted ADD COLUMN last_run integer;
  ALTER TABLE accepted ADD COLUMN seen text;
  ALTER TABLE accepted ADD COLUMN normalised smallint NOT NULL DEFAULT 0;
  `,
  `
  -- Keys of one record: what is written under one of them is written over the others.
  CREATE INDEX accepted_record ON accepted (destination, hashtextextended(record_id, 0)) WHERE record_id IS NOT NULL;
  `,
  ATTEMPT_VIEWS,
  `
  -- The key of a record in the form of the answer, by which it is found where the service keeps that form.
  ALTER TABLE items ADD COLUMN answered_key text;
  `,
  `
  -- The records that rows of a run were found under.
  CREATE INDEX differences_record ON differences (hashtextextended(record_id, run))
    WHERE ordinal IS NOT NULL AND record_id IS NOT NULL;
  `,
  `
  -- The last run before the ledger was put back from a backup: what was accepted until then may be older than what the service holds.
  ALTER TABLE project ADD COLUMN restored_after integer NOT NULL DEFAULT 0;
  `,
  `
  -- What was read of an extra record, as a digest: another one before it is deleted shows that it has changed.
  ALTER TABLE differences ADD COLUMN version text;
  `,
  `
  -- The records of a key that has several, or may have (JSON), until all but one were seen to be gone.
  ALTER TABLE accepted ADD COLUMN records text;
  CREATE INDEX accepted_several ON accepted (destination) WHERE records IS NOT NULL;
  `,
  `
  -- Rows that the mode of an import does not write.
  ALTER TABLE segments ADD COLUMN spared integer NOT NULL DEFAULT 0;
  `,
  SPARING_VIEWS,
  LINK_TABLES,
  `
  -- Records whose rows are gone from the source, or ask for it, and what became of them.
  CREATE TABLE removals (
    run integer NOT NULL,
    number integer NOT NULL,
    key text NOT NULL,
    record_id text,
    cause text NOT NULL,
    state text NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    in_doubt smallint NOT NULL DEFAULT 0,
    http_status integer,
    code text,
    reason text,
    detail text,
    PRIMARY KEY (run, number)
  );
  CREATE INDEX removals_key ON removals (hashtextextended(key, run));
  `,
  `
  -- What is known of links to a record, and from it, for the day that it is removed.
  CREATE INDEX known_links_target_record ON known_links (target_id) WHERE state = 'linked';
  CREATE INDEX known_links_source_record ON known_links (source_id) WHERE state = 'linked';
  `,
  `
  -- The links of a run by the records of their ends: where one of two that cannot be next to each other takes the other's place.
  CREATE INDEX links_target_id ON links (hashtextextended(target_id, run)) WHERE target_id IS NOT NULL;
  CREATE INDEX links_source_id ON links (hashtextextended(source_id, run)) WHERE source_id IS NOT NULL;
  `,
  `
  -- Links that are linked, and that the source did not ask for when it was read.
  ALTER TABLE known_links ADD COLUMN left_source smallint NOT NULL DEFAULT 0;
  `,
  `
  -- What the record of a row held right before it was sent, and what was sent: JSON objects by property.
  CREATE TABLE before_images (
    run integer NOT NULL,
    ordinal integer NOT NULL,
    verdict text NOT NULL,
    record_id text,
    "before" text,
    sent text NOT NULL,
    PRIMARY KEY (run, ordinal)
  );
  `,
  CONFLICT_VIEWS,
  `
  -- What a record held right before it was deleted: a JSON object by property.
  ALTER TABLE removals ADD COLUMN "before" text;
  `,
  KEPT_VIEWS,
  `
  -- Values that a row did not write over, as a JSON list, how many they are, and the baseline hashes that it leaves behind.
  ALTER TABLE before_images ADD COLUMN kept text;
  ALTER TABLE before_images ADD COLUMN kept_values integer NOT NULL DEFAULT 0;
  ALTER TABLE before_images ADD COLUMN marks text;
  `,
  `
  -- What the answer to a row showed of its record: values in other forms than they were sent, and the time of the change.
  ALTER TABLE before_images ADD COLUMN "after" text;
  `,
  `
  -- How many values of others a row writes over that the sync has not written before.
  ALTER TABLE before_images ADD COLUMN written_over integer NOT NULL DEFAULT 0;
  `,
  ACTION_TABLE,
  SCHEMA_CHANGE_TABLE,
  REPLICA_IDENTITY,
  WATERMARKS,
  MOVE_TABLE,
  WATERMARKS_BEFORE,
]
