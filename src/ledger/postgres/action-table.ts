// The table of what people did. A migration: never edit it once it was released.

export const ACTION_TABLE = `
  -- What people did to runs and schedules: written before it is carried out, completed after.
  CREATE TABLE actions (
    number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    began_at timestamptz NOT NULL,
    ended_at timestamptz,
    who text NOT NULL,
    via text NOT NULL,
    action text NOT NULL,
    sync text NOT NULL,
    run integer,
    details text,
    token text UNIQUE,
    state text NOT NULL,
    result text,
    workflow_id text
  );
  CREATE INDEX actions_began ON actions (began_at);
  CREATE INDEX actions_sync ON actions (sync, number);
  CREATE INDEX actions_run ON actions (run, number) WHERE run IS NOT NULL;
  CREATE INDEX actions_workflow ON actions (workflow_id) WHERE workflow_id IS NOT NULL;
`
