// The table of moves of a ledger. A migration: never edit it once it was released.

export const MOVE_TABLE = `
  -- The ledger that this one was filled from, and the one that it was moved to.
  CREATE TABLE moves (
    id text NOT NULL,
    way text NOT NULL,
    place text NOT NULL,
    state text NOT NULL,
    position text,
    began_at timestamptz NOT NULL,
    ended_at timestamptz,
    PRIMARY KEY (id, way)
  );
  `
