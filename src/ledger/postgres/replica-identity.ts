// A migration: a database whose tables are all published lets these be changed. Never edit it once it is released.

export const REPLICA_IDENTITY = `
  -- Where all tables of a database are published, one without a primary key may be changed only so. Keys of rows fit no index.
  ALTER TABLE accepted REPLICA IDENTITY FULL;
  ALTER TABLE known_links REPLICA IDENTITY FULL;
  ALTER TABLE project REPLICA IDENTITY FULL;
  ALTER TABLE schema_version REPLICA IDENTITY FULL;
  `
