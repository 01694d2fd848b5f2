// The tables of links: rows ask for them, a step of a run sends them, and earlier runs know them.

import { KNOWN_LINK_STATES, LINK_STATES } from '../../core/domain/outcomes.ts'
import { outcomeSql, sqlList } from '../rows/values.ts'

export const LINK_TABLES = `
  CREATE TABLE links (
    run INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    number INTEGER NOT NULL,
    association TEXT NOT NULL,
    key TEXT NOT NULL,
    target_type TEXT NOT NULL,
    "by" TEXT,
    target TEXT NOT NULL,
    "column" TEXT,
    state TEXT NOT NULL CHECK (state IN (${sqlList(LINK_STATES)})),
    attempts INTEGER NOT NULL DEFAULT 0,
    replayed FLAG NOT NULL DEFAULT 0,
    in_doubt FLAG NOT NULL DEFAULT 0,
    source_id TEXT,
    target_id TEXT,
    replaced_id TEXT,
    http_status INTEGER,
    request_id TEXT,
    code TEXT,
    reason TEXT,
    detail TEXT,
    PRIMARY KEY (run, ordinal, number)
  ) KEYED_70;
  CREATE INDEX links_sent ON links (run, ordinal, number) WHERE state = 'in_flight';

  CREATE TABLE link_steps (
    run INTEGER PRIMARY KEY,
    fence INTEGER NOT NULL DEFAULT 0,
    read INTEGER NOT NULL DEFAULT 0,
    planned INTEGER NOT NULL DEFAULT 0,
    unchanged INTEGER NOT NULL DEFAULT 0,
    linked INTEGER NOT NULL DEFAULT 0,
    target_missing INTEGER NOT NULL DEFAULT 0,
    not_wanted INTEGER NOT NULL DEFAULT 0,
    refused INTEGER NOT NULL DEFAULT 0,
    outcome_unknown INTEGER NOT NULL DEFAULT 0,
    not_sent INTEGER NOT NULL DEFAULT 0,
    open INTEGER NOT NULL DEFAULT 0,
    requests INTEGER NOT NULL DEFAULT 0,
    sent_at INSTANT
  ) ROWS_50;

  CREATE TABLE known_links (
    destination INTEGER NOT NULL REFERENCES destinations (id),
    key TEXT NOT NULL,
    target TEXT NOT NULL,
    association TEXT NOT NULL,
    target_type TEXT NOT NULL,
    "by" TEXT,
    "column" TEXT,
    state TEXT NOT NULL CHECK (state IN (${sqlList(KNOWN_LINK_STATES)})),
    source_id TEXT,
    target_id TEXT,
    one_source FLAG NOT NULL DEFAULT 0,
    run INTEGER NOT NULL,
    -- Whether it is linked, and the source did not ask for it when it was read.
    left_source FLAG NOT NULL DEFAULT 0 KNOWN_KEY
  ) KEYED_70;
  -- What is known of links to a record, and from it, for the day that it is removed.
  CREATE INDEX known_links_target_record ON known_links (target_id) WHERE state = 'linked';
  CREATE INDEX known_links_source_record ON known_links (source_id) WHERE state = 'linked';

  CREATE VIEW link_results AS
    SELECT runs.sync, links.run, links.ordinal, links.number, items.line, links.association, links.key,
      links.target_type, links."by", links.target, links."column", ${outcomeSql('links.state')} AS outcome, links.state, links.source_id, links.target_id,
      links.replaced_id, links.http_status, links.code, links.reason, links.detail, links.request_id,
      links.attempts, links.replayed, links.in_doubt, runs.purpose, runs.of_run
    FROM links JOIN runs ON runs.id = links.run
      LEFT JOIN items ON items.run = links.run AND items.ordinal = links.ordinal
    WHERE runs.mode = 'run';
`
