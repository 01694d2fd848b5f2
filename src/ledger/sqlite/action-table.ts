// The table of what people did. A migration: never edit it once it was released.

export const ACTION_TABLE = `
  -- What people did to runs and schedules: written before it is carried out, completed after.
  CREATE TABLE actions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    began_at TEXT NOT NULL,
    ended_at TEXT,
    who TEXT NOT NULL,
    via TEXT NOT NULL,
    action TEXT NOT NULL,
    sync TEXT NOT NULL,
    run INTEGER,
    details TEXT,
    token TEXT UNIQUE,
    state TEXT NOT NULL,
    result TEXT,
    workflow_id TEXT
  ) STRICT;
  CREATE INDEX actions_began ON actions (began_at);
  CREATE INDEX actions_sync ON actions (sync, number);
  CREATE INDEX actions_run ON actions (run, number) WHERE run IS NOT NULL;
  CREATE INDEX actions_workflow ON actions (workflow_id) WHERE workflow_id IS NOT NULL;
`
