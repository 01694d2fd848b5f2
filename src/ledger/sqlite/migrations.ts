// The ledger's tables in SQLite, and their migrations (design section 5).

import { LINK_TABLES } from '../statements/link-schema.ts'
import { inWords, TABLES, type SchemaWords } from '../statements/schema.ts'
import { ATTEMPT_VIEWS } from './attempt-views.ts'

const STRICT = 'STRICT'
const BY_KEY = 'STRICT, WITHOUT ROWID'

const WORDS: SchemaWords = {
  FLAG: 'INTEGER',
  BIG: 'INTEGER',
  REAL: 'REAL',
  JSON: 'TEXT',
  INSTANT: 'TEXT',
  SORTED: 'TEXT',
  RUN_NUMBER: 'INTEGER PRIMARY KEY AUTOINCREMENT',
  NUMBERED: 'INTEGER PRIMARY KEY AUTOINCREMENT',
  DIFFERENCE_NUMBER: 'INTEGER NOT NULL',
  ACCEPTED_KEY: ', PRIMARY KEY (destination, key)',
  WITHDRAWN_KEY: ', PRIMARY KEY (destination, key)',
  KNOWN_KEY: ', PRIMARY KEY (destination, key, target, association)',
  ROWS: STRICT,
  ROWS_50: STRICT,
  KEYED: BY_KEY,
  KEYED_50: BY_KEY,
  KEYED_70: BY_KEY,
  KEYED_90: BY_KEY,
}

const INDEXES = `
  CREATE INDEX items_key ON items (run, key, ordinal);
  CREATE INDEX items_record ON items (run, record_id) WHERE record_id IS NOT NULL;
  CREATE INDEX items_of ON items (run, of_ordinal) WHERE of_ordinal IS NOT NULL;
  CREATE INDEX requests_unsettled ON requests (run, batch) WHERE settled_at IS NULL;
  -- Keys of one record: what is written under one of them is written over the others.
  CREATE INDEX accepted_record ON accepted (destination, record_id) WHERE record_id IS NOT NULL;
  CREATE INDEX differences_subject ON differences (run, subject, stream, kind, repaired);
  CREATE INDEX differences_ordinal ON differences (run, ordinal) WHERE ordinal IS NOT NULL;
  -- The records that rows of a run were found under.
  CREATE INDEX differences_record ON differences (run, record_id) WHERE ordinal IS NOT NULL AND record_id IS NOT NULL;
  CREATE INDEX removals_key ON removals (run, key);
  CREATE INDEX links_edge ON links (run, target, key, association);
  -- Where one of two links that cannot be next to each other takes the other's place.
  CREATE INDEX links_target_id ON links (run, target_id) WHERE target_id IS NOT NULL;
  CREATE INDEX links_source_id ON links (run, source_id) WHERE source_id IS NOT NULL;
  CREATE INDEX known_links_left ON known_links (destination, key, target, association) WHERE state <> 'linked';
  CREATE INDEX known_links_waiting ON known_links (destination, target_type, key, target, association)
    WHERE state = 'target_missing';
  CREATE INDEX known_links_one_source ON known_links (destination, target, association) WHERE one_source = 1;
`

/** A project is told from another by its id, and knows the last run before the ledger was put back from a backup. */
const PROJECT = `
  CREATE TABLE project (id TEXT NOT NULL, restored_after INTEGER NOT NULL DEFAULT 0) STRICT;
  INSERT INTO project (id) VALUES (lower(hex(randomblob(4))));
`

const LINK_VIEW = `
  CREATE VIEW link_rejects AS
    SELECT * FROM link_results
    WHERE state IN ('refused', 'outcome_unknown', 'not_sent') AND EXISTS (SELECT 1 FROM known_links
      WHERE known_links.destination = (SELECT destination FROM runs WHERE id = link_results.run)
        AND known_links.key = link_results.key AND known_links.target = link_results.target
        AND known_links.association = link_results.association
        AND (known_links.state <> 'linked' OR known_links.run < link_results.run));
`

/** Applied in order: the first one makes schema version FIRST_SCHEMA, each other one the next. Never edit one that was released. */
export const MIGRATIONS: readonly string[] = [
  [inWords(TABLES + LINK_TABLES, WORDS), INDEXES, PROJECT, LINK_VIEW, ATTEMPT_VIEWS].join(''),
]
