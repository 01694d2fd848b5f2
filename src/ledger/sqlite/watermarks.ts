// Migrations: watermarks show which row of a key is newer. Never edit it once it is released.

import { GONE_VIEWS, WATERMARK_VIEWS } from './attempt-views.ts'

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

export const WATERMARKS_BEFORE = `
  -- The watermark that the key of a row had right before the row was sent, or its record removed: an undo gives it back. Empty: none.
  ALTER TABLE before_images ADD COLUMN watermark TEXT;
  ALTER TABLE removals ADD COLUMN watermark TEXT;
  -- The run that read the row; what a later one has accepted counts in its place.
  ALTER TABLE withdrawn_keys ADD COLUMN run INTEGER;
${GONE_VIEWS}`
