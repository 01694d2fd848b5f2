// A migration: watermarks show which row of a key is newer. Never edit it once it is released.

import { WATERMARK_VIEWS } from './attempt-views.ts'

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
