// The ledger's tables, as numbered migrations: those of the SQLite ledger, with PostgreSQL's types. They are the users'
// too: documented in docs/ledger.md, stable, to be queried with SQL.
// Keys and record ids have no bound, entries of an index do (2,704 bytes): their indexes hold 64 bits of hash. Two keys of
// one hash do no harm in `items`; in `accepted` the later one takes the other's place, whose row is then sent again.
// Whatever is asked of a large table can be answered by one index only: tables fill faster than the planner's figures of
// them follow, and where it has a choice it would sooner or later read a whole run for each of its rows. So the run is
// part of the hash in the indexes by key and by record, and the ordinal in them is of another type.

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
]
