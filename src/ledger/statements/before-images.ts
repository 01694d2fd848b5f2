// Before-images, as every engine keeps them.

import { noVerdicts, type RowVerdict } from '../../core/domain/row-changes.ts'
import { WRITTEN_STATES, type ItemState } from '../../core/domain/item-states.ts'
import type { BeforeImage, BeforeImages, ImagedItem } from '../roles/before-images.ts'
import { PLANNED_COLUMNS, plannedOfRow } from '../rows/items.ts'
import { sqlList, text, type Row } from '../rows/values.ts'
import { COLUMN_MAX, type SqlDialect, type StatementRunner } from './engine.ts'

const imageOfRow = (row: Row): BeforeImage => ({
  ordinal: Number(row['ordinal']),
  verdict: row['verdict'] as RowVerdict,
  recordId: text(row['record_id']),
  before: text(row['before']),
  sent: String(row['sent']),
  ...(row['kept'] !== null && {
    kept: String(row['kept']),
    keptValues: Number(row['kept_values']),
  }),
  ...(row['marks'] !== null && { marks: String(row['marks']) }),
  ...(row['after'] !== null && { after: String(row['after']) }),
})

const imagedOfRow = (row: Row): ImagedItem => ({
  ...imageOfRow(row),
  line: Number(row['line']),
  key: String(row['key']),
  state: row['state'] as ItemState,
  writtenId: text(row['written_id']),
})

/** States of rows whose records have what was kept. */
const keepingStates = sqlList([...WRITTEN_STATES, 'kept'])

/** Rows of a stretch of ordinals that kept values, and these. @param join one that reads its tables in their order */
export const keptCountsSql = (
  join: string,
) => `SELECT count(*) AS items, coalesce(sum(image.kept_values), 0) AS kept
  FROM before_images AS image ${join} items ON items.run = image.run AND items.ordinal = image.ordinal
  WHERE image.run = $1 AND image.ordinal BETWEEN $2 AND $3 AND image.kept_values > 0 AND items.state IN (${keepingStates})`

const IMAGE_COLUMNS = `image.ordinal, image.verdict, image.record_id, image."before", image.sent,
  image.kept, image.kept_values, image.marks, image."after"`

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export const beforeImageStatements = (
  db: StatementRunner,
  { eachOf, isOneOf, list, join, withPayload }: SqlDialect,
) =>
  ({
    async recordImages(run, images, { again = false } = {}) {
      if (images.length === 0) return
      await db.run(
        `INSERT INTO before_images (run, ordinal, verdict, record_id, "before", sent, kept, kept_values, marks)
           SELECT items.run, items.ordinal, each.value ->> 'verdict', each.value ->> 'recordId', each.value ->> 'before',
             each.value ->> 'sent', each.value ->> 'kept', coalesce(CAST(each.value ->> 'keptValues' AS integer), 0),
             each.value ->> 'marks'
           FROM ${eachOf('$2')} ${join} items ON items.run = $1
             AND items.ordinal = CAST(each.value ->> 'ordinal' AS integer)
             AND ${again ? "items.state IN ('planned', 'sent')" : "items.state = 'planned' AND items.replayed = 0"}
           WHERE true
         ON CONFLICT (run, ordinal) DO UPDATE SET verdict = excluded.verdict, record_id = excluded.record_id,
           "before" = excluded."before", sent = excluded.sent, kept = excluded.kept, kept_values = excluded.kept_values, marks = excluded.marks, "after" = NULL`,
        [run, JSON.stringify(images)],
      )
    },

    async noteAfter(run, shown) {
      if (shown.length === 0) return
      await db.run(
        // An UPDATE would read all images of the run for each of these.
        `INSERT INTO before_images (run, ordinal, verdict, sent, "after")
           SELECT image.run, image.ordinal, image.verdict, image.sent, each.value ->> 'after'
           FROM ${eachOf('$2')} ${join} before_images AS image
             ON image.run = $1 AND image.ordinal = CAST(each.value ->> 'ordinal' AS integer)
           WHERE true
         ON CONFLICT (run, ordinal) DO UPDATE SET "after" = excluded."after"`,
        [run, JSON.stringify(shown)],
      )
    },

    async imagesOf(run, ordinals) {
      if (ordinals.length === 0) return new Map()
      const rows = await db.all(
        `SELECT ${IMAGE_COLUMNS} FROM ${eachOf('$2')} ${join} before_images AS image
           ON image.run = $1 AND image.ordinal = CAST(CAST(each.value AS text) AS integer)`,
        [run, JSON.stringify(ordinals)],
      )
      return new Map(rows.map(imageOfRow).map((image) => [image.ordinal, image]))
    },

    async images(run, { verdicts, after, limit }) {
      const { rows } = await db.page(
        `SELECT ${IMAGE_COLUMNS}, items.line, items.key, items.state, items.record_id AS written_id
         FROM before_images AS image ${join} items ON items.run = image.run AND items.ordinal = image.ordinal
         WHERE image.run = $1 AND image.ordinal > $2 AND ${isOneOf('image.verdict', '$4')}
         ORDER BY image.ordinal LIMIT $3`,
        [run, after, limit, list(verdicts)],
        'sent',
      )
      return rows.map(imagedOfRow)
    },

    async keptCounts(run) {
      const row = await db.one(keptCountsSql(join), [run, 1, COLUMN_MAX])
      return { rows: Number(row?.['items'] ?? 0), values: Number(row?.['kept'] ?? 0) }
    },

    async imageCounts(run) {
      const rows = await db.all(
        'SELECT verdict, count(*) AS images FROM before_images WHERE run = $1 GROUP BY verdict',
        [run],
      )
      const counts = noVerdicts()
      for (const row of rows) counts[row['verdict'] as RowVerdict] = Number(row['images'])
      return counts
    },

    async withoutImage(run, { after, limit }) {
      const { rows } = await db.page(
        `SELECT ${PLANNED_COLUMNS} FROM items ${withPayload}
         WHERE run = $1 AND ordinal > $2 AND state = 'planned'
           AND NOT EXISTS (SELECT 1 FROM before_images AS image WHERE image.run = $1 AND image.ordinal = items.ordinal)
         ORDER BY ordinal LIMIT $3`,
        [run, after, limit],
        'payload',
      )
      return rows.map(plannedOfRow)
    },
  }) satisfies BeforeImages
