// A migration: links, that is what rows ask to be linked to, the step of a run that sends them, and what is known of them from
// earlier runs. Never edit it once it is released.

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
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    replayed INTEGER NOT NULL DEFAULT 0,
    in_doubt INTEGER NOT NULL DEFAULT 0,
    source_id TEXT,
    target_id TEXT,
    replaced_id TEXT,
    http_status INTEGER,
    request_id TEXT,
    code TEXT,
    reason TEXT,
    detail TEXT,
    PRIMARY KEY (run, ordinal, number)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX links_edge ON links (run, target, key, association);
  CREATE INDEX links_sent ON links (run, ordinal, number) WHERE state = 'sent';

  CREATE TABLE link_steps (
    run INTEGER PRIMARY KEY,
    fence INTEGER NOT NULL DEFAULT 0,
    read INTEGER NOT NULL DEFAULT 0,
    planned INTEGER NOT NULL DEFAULT 0,
    unchanged INTEGER NOT NULL DEFAULT 0,
    linked INTEGER NOT NULL DEFAULT 0,
    parked INTEGER NOT NULL DEFAULT 0,
    skipped INTEGER NOT NULL DEFAULT 0,
    rejected INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    unsent INTEGER NOT NULL DEFAULT 0,
    open INTEGER NOT NULL DEFAULT 0,
    requests INTEGER NOT NULL DEFAULT 0,
    sent_at TEXT
  ) STRICT;

  CREATE TABLE known_links (
    destination INTEGER NOT NULL REFERENCES destinations (id),
    key TEXT NOT NULL,
    target TEXT NOT NULL,
    association TEXT NOT NULL,
    target_type TEXT NOT NULL,
    "by" TEXT,
    "column" TEXT,
    state TEXT NOT NULL,
    source_id TEXT,
    target_id TEXT,
    one_source INTEGER NOT NULL DEFAULT 0,
    run INTEGER NOT NULL,
    PRIMARY KEY (destination, key, target, association)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX known_links_left ON known_links (destination, key, target, association) WHERE state <> 'linked';
  CREATE INDEX known_links_parked ON known_links (destination, target_type, key, target, association)
    WHERE state = 'parked';
  CREATE INDEX known_links_one_source ON known_links (destination, target, association) WHERE one_source = 1;

  CREATE VIEW link_results AS
    SELECT runs.sync, links.run, links.ordinal, links.number, items.line, links.association, links.key,
      links.target_type, links."by", links.target, links."column", links.state, links.source_id, links.target_id,
      links.replaced_id, links.http_status, links.code, links.reason, links.detail, links.request_id,
      links.attempts, links.replayed, links.in_doubt, runs.purpose, runs.of_run
    FROM links JOIN runs ON runs.id = links.run
      LEFT JOIN items ON items.run = links.run AND items.ordinal = links.ordinal
    WHERE runs.mode = 'run';

  CREATE VIEW link_rejects AS
    SELECT * FROM link_results
    WHERE state IN ('rejected', 'failed', 'unsent') AND EXISTS (SELECT 1 FROM known_links
      WHERE known_links.destination = (SELECT destination FROM runs WHERE id = link_results.run)
        AND known_links.key = link_results.key AND known_links.target = link_results.target
        AND known_links.association = link_results.association
        AND (known_links.state <> 'linked' OR known_links.run < link_results.run));
  `
