// A migration: watermarks show which row of a key is newer. Never edit it once it is released.

import { WATERMARK_VIEWS } from './attempt-views.ts'

export const WATERMARKS = `
  -- The value of the watermark's column in a row, after 9 characters for column and order, as a text that sorts as the values do.
  ALTER TABLE items ADD COLUMN watermark TEXT;
  ALTER TABLE accepted ADD COLUMN watermark TEXT;
  -- Watermarks of rows that asked for the deletion of their records.
  CREATE TABLE withdrawn_keys (
    destination INTEGER NOT NULL REFERENCES destinations (id),
    key TEXT NOT NULL,
    watermark TEXT NOT NULL,
    PRIMARY KEY (destination, key)
  ) STRICT, WITHOUT ROWID;
${WATERMARK_VIEWS}`
