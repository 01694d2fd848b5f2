// The table of what changed at the object types of mirrors. A migration: never edit it once it was released.

export const SCHEMA_CHANGE_TABLE = `
  -- What changed at the object types of mirrors: noted before a table is changed, ended after.
  CREATE TABLE schema_changes (
    run integer NOT NULL,
    stream text NOT NULL,
    number integer NOT NULL,
    sync text NOT NULL,
    property text NOT NULL,
    kind text NOT NULL,
    type_before text,
    type_now text,
    handling text NOT NULL,
    column_names text NOT NULL,
    found_at timestamptz NOT NULL,
    done_at timestamptz,
    PRIMARY KEY (run, stream, number)
  );
  CREATE INDEX schema_changes_sync ON schema_changes (sync, run);
`
