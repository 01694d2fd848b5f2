// The table of what changed at the object types of mirrors. A migration: never edit it once it was released.

export const SCHEMA_CHANGE_TABLE = `
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
    found_at TEXT NOT NULL,
    done_at TEXT,
    PRIMARY KEY (run, stream, number)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX schema_changes_sync ON schema_changes (sync, run);
`
