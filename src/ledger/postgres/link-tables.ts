// A migration: links, that is what rows ask to be linked to, the step of a run that sends them, and what is known of them from
// earlier runs. Never edit it once it is released.

export const LINK_TABLES = `
  CREATE TABLE links (
    run integer NOT NULL,
    ordinal integer NOT NULL,
    number integer NOT NULL,
    association text NOT NULL,
    key text NOT NULL,
    target_type text NOT NULL,
    "by" text,
    target text NOT NULL,
    "column" text,
    state text NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    replayed smallint NOT NULL DEFAULT 0,
    in_doubt smallint NOT NULL DEFAULT 0,
    source_id text,
    target_id text,
    replaced_id text,
    http_status integer,
    request_id text,
    code text,
    reason text,
    detail text,
    PRIMARY KEY (run, ordinal, number)
  ) WITH (fillfactor = 70);
  CREATE INDEX links_edge ON links (hashtextextended(target, run), hashtextextended(key, run));
  CREATE INDEX links_sent ON links (run, ordinal, number) WHERE state = 'sent';

  CREATE TABLE link_steps (
    run integer PRIMARY KEY,
    fence integer NOT NULL DEFAULT 0,
    read integer NOT NULL DEFAULT 0,
    planned integer NOT NULL DEFAULT 0,
    unchanged integer NOT NULL DEFAULT 0,
    linked integer NOT NULL DEFAULT 0,
    parked integer NOT NULL DEFAULT 0,
    skipped integer NOT NULL DEFAULT 0,
    rejected integer NOT NULL DEFAULT 0,
    failed integer NOT NULL DEFAULT 0,
    unsent integer NOT NULL DEFAULT 0,
    open integer NOT NULL DEFAULT 0,
    requests integer NOT NULL DEFAULT 0,
    sent_at timestamptz
  ) WITH (fillfactor = 50);

  CREATE TABLE known_links (
    destination integer NOT NULL REFERENCES destinations (id),
    key text NOT NULL,
    target text NOT NULL,
    association text NOT NULL,
    target_type text NOT NULL,
    "by" text,
    "column" text,
    state text NOT NULL,
    source_id text,
    target_id text,
    one_source smallint NOT NULL DEFAULT 0,
    run integer NOT NULL
  ) WITH (fillfactor = 70);
  CREATE UNIQUE INDEX known_links_edge ON known_links
    (destination, hashtextextended(key, 0), hashtextextended(target, 0), association);
  CREATE INDEX known_links_left ON known_links
    (destination, hashtextextended(key, 0), hashtextextended(target, 0), association) WHERE state <> 'linked';
  CREATE INDEX known_links_parked ON known_links
    (destination, target_type, hashtextextended(key, 0), hashtextextended(target, 0), association)
    WHERE state = 'parked';
  CREATE INDEX known_links_one_source ON known_links (destination, hashtextextended(target, 0)) WHERE one_source = 1;

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
    WHERE state IN ('rejected', 'failed', 'unsent') AND (SELECT true FROM known_links
      WHERE known_links.destination = (SELECT destination FROM runs WHERE id = link_results.run)
        AND hashtextextended(known_links.key, 0) = hashtextextended(link_results.key, 0)
        AND hashtextextended(known_links.target, 0) = hashtextextended(link_results.target, 0)
        AND known_links.key = link_results.key AND known_links.target = link_results.target
        AND known_links.association = link_results.association
        AND (known_links.state <> 'linked' OR known_links.run < link_results.run) LIMIT 1);
  `
