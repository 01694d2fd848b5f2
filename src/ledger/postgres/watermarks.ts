// Migrations: watermarks show which row of a key is newer. Never edit it once it is released.

import { GONE_VIEWS, WATERMARK_VIEWS } from './attempt-views.ts'

export const WATERMARKS = `
  -- The value of the watermark's column in a row, after 9 characters for column and order, as a text that sorts as the values do.
  ALTER TABLE items ADD COLUMN watermark text COLLATE "C";
  ALTER TABLE accepted ADD COLUMN watermark text COLLATE "C";
  -- Watermarks of rows that asked for the deletion of their records.
  CREATE TABLE withdrawn_keys (
    destination integer NOT NULL REFERENCES destinations (id),
    key text NOT NULL,
    watermark text COLLATE "C" NOT NULL
  );
  CREATE UNIQUE INDEX withdrawn_keys_key ON withdrawn_keys (destination, hashtextextended(key, 0));
  ALTER TABLE withdrawn_keys REPLICA IDENTITY FULL;
${WATERMARK_VIEWS}`

export const WATERMARKS_BEFORE = `
  -- The watermark that the key of a row had right before the row was sent, or its record removed: an undo gives it back. Empty: none.
  ALTER TABLE before_images ADD COLUMN watermark text COLLATE "C";
  ALTER TABLE removals ADD COLUMN watermark text COLLATE "C";
  -- The run that read the row; what a later one has accepted counts in its place.
  ALTER TABLE withdrawn_keys ADD COLUMN run integer;
  -- Whether a reading has rows without a key.
  CREATE INDEX items_keyless ON items (run) WHERE key IS NULL;
${GONE_VIEWS}`
