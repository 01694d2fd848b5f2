// The ledger's tables in PostgreSQL, and their migrations.
// Keys and record ids have no bound, entries of an index do (2,704 bytes): their indexes hold 64 bits of hash. Two keys of
// one hash do no harm in `items`; in `accepted` the later one takes the other's place, whose row is then sent again.
// Whatever is asked of a large table can be answered by one index only: tables fill faster than the planner's figures of
// them follow, and where it has a choice it would sooner or later read a whole run for each of its rows. So the run is
// part of the hash in the indexes by key and by record, and the ordinal in them is of another type.

import { LINK_TABLES } from '../statements/link-schema.ts'
import { inWords, TABLES, type SchemaWords } from '../statements/schema.ts'
import { ATTEMPT_VIEWS } from './attempt-views.ts'

const filled = (percent: number): string => `WITH (fillfactor = ${percent})`

const WORDS: SchemaWords = {
  FLAG: 'smallint',
  BIG: 'bigint',
  REAL: 'double precision',
  JSON: 'json',
  INSTANT: 'timestamptz',
  SORTED: 'text COLLATE "C"',
  RUN_NUMBER: 'integer PRIMARY KEY',
  NUMBERED: 'integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
  DIFFERENCE_NUMBER: 'bigint GENERATED ALWAYS AS IDENTITY',
  ACCEPTED_KEY: '',
  WITHDRAWN_KEY: '',
  KNOWN_KEY: '',
  ROWS: '',
  ROWS_50: filled(50),
  KEYED: '',
  KEYED_50: filled(50),
  KEYED_70: filled(70),
  KEYED_90: filled(90),
}

const INDEXES = `
  CREATE INDEX items_key ON items (hashtextextended(key, run), (ordinal::bigint));
  CREATE INDEX items_record ON items (hashtextextended(record_id, run), (ordinal::bigint))
    WHERE record_id IS NOT NULL;
  CREATE INDEX items_of ON items (((run::bigint << 32) | of_ordinal)) WHERE of_ordinal IS NOT NULL;
  -- Whether a reading has rows without a key.
  CREATE INDEX items_keyless ON items (run) WHERE key IS NULL;
  CREATE UNIQUE INDEX accepted_key ON accepted (destination, hashtextextended(key, 0));
  -- Keys of one record: what is written under one of them is written over the others.
  CREATE INDEX accepted_record ON accepted (destination, hashtextextended(record_id, 0)) WHERE record_id IS NOT NULL;
  CREATE UNIQUE INDEX withdrawn_keys_key ON withdrawn_keys (destination, hashtextextended(key, 0));
  CREATE INDEX differences_subject ON differences (hashtextextended(subject, run));
  CREATE INDEX differences_ordinal ON differences (((run::bigint << 32) | ordinal)) WHERE ordinal IS NOT NULL;
  -- The records that rows of a run were found under.
  CREATE INDEX differences_record ON differences (hashtextextended(record_id, run))
    WHERE ordinal IS NOT NULL AND record_id IS NOT NULL;
  CREATE INDEX removals_key ON removals (hashtextextended(key, run));
  CREATE INDEX links_edge ON links (hashtextextended(target, run), hashtextextended(key, run));
  -- Where one of two links that cannot be next to each other takes the other's place.
  CREATE INDEX links_target_id ON links (hashtextextended(target_id, run)) WHERE target_id IS NOT NULL;
  CREATE INDEX links_source_id ON links (hashtextextended(source_id, run)) WHERE source_id IS NOT NULL;
  CREATE UNIQUE INDEX known_links_edge ON known_links
    (destination, hashtextextended(key, 0), hashtextextended(target, 0), association);
  CREATE INDEX known_links_left ON known_links
    (destination, hashtextextended(key, 0), hashtextextended(target, 0), association) WHERE state <> 'linked';
  CREATE INDEX known_links_waiting ON known_links
    (destination, target_type, hashtextextended(key, 0), hashtextextended(target, 0), association)
    WHERE state = 'target_missing';
  CREATE INDEX known_links_one_source ON known_links (destination, hashtextextended(target, 0)) WHERE one_source = 1;
`

const OWN_TABLES = `
  -- A project is told from another by its id, and knows the last run before the ledger was put back from a backup.
  CREATE TABLE project (id text NOT NULL, restored_after integer NOT NULL DEFAULT 0);
  INSERT INTO project (id) VALUES (left(replace(gen_random_uuid()::text, '-', ''), 8));

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

  -- Where all tables of a database are published, one without a primary key may be changed only so. Keys of rows fit no index.
  ALTER TABLE accepted REPLICA IDENTITY FULL;
  ALTER TABLE withdrawn_keys REPLICA IDENTITY FULL;
  ALTER TABLE known_links REPLICA IDENTITY FULL;
  ALTER TABLE project REPLICA IDENTITY FULL;
  ALTER TABLE schema_version REPLICA IDENTITY FULL;
`

const LINK_VIEW = `
  CREATE VIEW link_rejects AS
    SELECT * FROM link_results
    WHERE state IN ('refused', 'outcome_unknown', 'not_sent') AND (SELECT true FROM known_links
      WHERE known_links.destination = (SELECT destination FROM runs WHERE id = link_results.run)
        AND hashtextextended(known_links.key, 0) = hashtextextended(link_results.key, 0)
        AND hashtextextended(known_links.target, 0) = hashtextextended(link_results.target, 0)
        AND known_links.key = link_results.key AND known_links.target = link_results.target
        AND known_links.association = link_results.association
        AND (known_links.state <> 'linked' OR known_links.run < link_results.run) LIMIT 1);
`

/** As in the SQLite ledger; in the ledger's own schema, whose `schema_version` holds the version. */
export const MIGRATIONS: readonly string[] = [
  [inWords(TABLES + LINK_TABLES, WORDS), INDEXES, OWN_TABLES, LINK_VIEW, ATTEMPT_VIEWS].join(''),
]
