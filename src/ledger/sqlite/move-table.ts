// The table of moves of a ledger. A migration: never edit it once it was released.

export const MOVE_TABLE = `
  -- The ledger that this one was filled from, and the one that it was moved to.
  CREATE TABLE moves (
    id TEXT NOT NULL,
    way TEXT NOT NULL,
    place TEXT NOT NULL,
    state TEXT NOT NULL,
    position TEXT,
    began_at TEXT NOT NULL,
    ended_at TEXT,
    PRIMARY KEY (id, way)
  ) STRICT, WITHOUT ROWID;
  `
