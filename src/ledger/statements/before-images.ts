// Before-images, as every engine keeps them.

import type { KeptCounts } from '../../core/domain/books.ts'
import { noVerdicts, type RowVerdict } from '../../core/domain/row-changes.ts'
import { WRITTEN_STATES, type ItemState } from '../../core/domain/outcomes.ts'
import { KEPT_REASONS } from '../../core/domain/protection.ts'
import type { BeforeImage, BeforeImages, ImagedItem } from '../roles/before-images.ts'
import { PLANNED_COLUMNS, plannedOfRow, watermarkOf } from '../rows/items.ts'
import { sqlList, text, type Row } from '../rows/values.ts'
import { type SqlDialect, type StatementRunner } from './engine.ts'
import { DESTINATION, type LinkSql } from './link-sql.ts'

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
  ...(Number(row['written_over']) > 0 && { writtenOver: Number(row['written_over']) }),
  ...(row['marks'] !== null && { marks: String(row['marks']) }),
  ...(row['after'] !== null && { after: String(row['after']) }),
  ...watermarkOf(row),
})

const imagedOfRow = (row: Row): ImagedItem => ({
  ...imageOfRow(row),
  line: Number(row['line']),
  key: String(row['key']),
  state: row['state'] as ItemState,
  writtenId: text(row['written_id']),
})

/** The counts of `keptCountsSql`. */
export const keptCountsOfRow = (row: Row | undefined) => {
  const countsOf = (name: string): KeptCounts => ({
    values: Number(row?.[`${name}_values`] ?? 0),
    rows: Number(row?.[`${name}_rows`] ?? 0),
  })
  const counted = KEPT_REASONS.map(
    (reason) => [reason, Number(row?.[`reason_${reason}`] ?? 0)] as const,
  )
  const reasons = Object.fromEntries(counted.filter(([, values]) => values > 0))
  const kept = countsOf('kept')
  return {
    kept: Object.keys(reasons).length === 0 ? kept : { ...kept, reasons },
    writtenOver: countsOf('over'),
  }
}

const writtenItems = `items.state IN (${sqlList(WRITTEN_STATES)})`
/** States of rows whose records have what was kept. */
const keepingStates = sqlList([...WRITTEN_STATES, 'protected'])
const isWrittenOver = `image.written_over > 0 AND items.state IN (${sqlList(WRITTEN_STATES)})`

/** Rows of a stretch of ordinals that kept values, or wrote over some without a base, and these. */
export const keptCountsSql = ({
  join,
  eachOf,
}: Pick<
  SqlDialect,
  'eachOf' | 'join'
>) => `SELECT count(CASE WHEN image.kept_values > 0 THEN 1 END) AS kept_rows, coalesce(sum(image.kept_values), 0) AS kept_values,
    count(CASE WHEN ${isWrittenOver} THEN 1 END) AS over_rows, coalesce(sum(CASE WHEN ${isWrittenOver} THEN image.written_over END), 0) AS over_values,
    ${KEPT_REASONS.map(
      (reason) => `sum((SELECT count(*) FROM ${eachOf('image.kept')}
        WHERE each.value ->> 'reason' = '${reason}')) AS reason_${reason}`,
    ).join(', ')}
  FROM before_images AS image ${join} items ON items.run = image.run AND items.ordinal = image.ordinal
  WHERE image.run = $1 AND image.ordinal BETWEEN $2 AND $3 AND (image.kept_values > 0 OR image.written_over > 0)
    AND items.state IN (${keepingStates})`

/**
 * Rows of a stretch of ordinals that were sent again, or written as a look-up has shown, and updated a record that was there before.
 * @param join one that reads its tables in their order
 */
export const thereBeforeSql = (join: string) => `SELECT count(*) AS items
  FROM items ${join} before_images AS image ON image.run = items.run AND image.ordinal = items.ordinal
  WHERE items.run = $1 AND items.ordinal BETWEEN $2 AND $3 AND items.state = 'updated'
    AND (items.replayed = 1 OR coalesce(items.http_status, 0) NOT BETWEEN 200 AND 299)
    AND image.verdict = 'update' AND image."before" IS NOT NULL`

/** The watermark that was accepted for the key of `items`; empty where nothing was, and its row has one. */
const watermarkBefore = (sql: LinkSql): string => {
  const { table, on } = sql.acceptedOfKey('held', DESTINATION, 'items.key')
  return `CASE WHEN (SELECT 1 FROM ${table} WHERE ${on}) IS NOT NULL THEN (SELECT held.watermark FROM ${table} WHERE ${on})
    WHEN items.watermark IS NOT NULL THEN '' END`
}

const IMAGE_COLUMNS = `image.ordinal, image.verdict, image.record_id, image."before", image.sent,
  image.kept, image.kept_values, image.written_over, image.marks, image."after", image.watermark`

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export const beforeImageStatements = (db: StatementRunner, sql: LinkSql) => {
  const { contains, eachOf, isOneOf, list, join, withPayload } = sql
  const watermark = watermarkBefore(sql)
  return {
    async recordImages(run, images, { again = false, isWritten = false } = {}) {
      if (images.length === 0) return
      await db.run(
        `INSERT INTO before_images (run, ordinal, verdict, record_id, "before", sent, kept, kept_values, written_over, marks, watermark)
           SELECT items.run, items.ordinal, each.value ->> 'verdict', each.value ->> 'recordId', each.value ->> 'before',
             each.value ->> 'sent', each.value ->> 'kept', coalesce(CAST(each.value ->> 'keptValues' AS integer), 0),
             coalesce(CAST(each.value ->> 'writtenOver' AS integer), 0), each.value ->> 'marks', ${watermark}
           FROM ${eachOf('$2')} ${join} items ON items.run = $1
             AND items.ordinal = CAST(each.value ->> 'ordinal' AS integer)
             AND ${isWritten ? writtenItems : again ? "items.state IN ('pending', 'in_flight')" : "items.state = 'pending' AND items.replayed = 0"}
           WHERE true
         ON CONFLICT (run, ordinal) DO UPDATE SET verdict = excluded.verdict, record_id = excluded.record_id,
           "before" = excluded."before", sent = excluded.sent, kept = excluded.kept, kept_values = excluded.kept_values,
           written_over = excluded.written_over, marks = excluded.marks, "after" = NULL`,
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

    async images(run, { verdicts, after, limit, mentions }) {
      const { rows } = await db.page(
        `SELECT ${IMAGE_COLUMNS}, items.line, items.key, items.state, items.record_id AS written_id
         FROM before_images AS image ${join} items ON items.run = image.run AND items.ordinal = image.ordinal
         WHERE image.run = $1 AND image.ordinal > $2 AND ${isOneOf('image.verdict', '$4')}
           AND (CAST($5 AS text) IS NULL OR ${contains('image.sent', '$5')} OR ${contains('image.kept', '$5')})
         ORDER BY image.ordinal LIMIT $3`,
        [run, after, limit, list(verdicts), mentions ?? null],
        'sent',
      )
      return rows.map(imagedOfRow)
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
         WHERE run = $1 AND ordinal > $2 AND state = 'pending'
           AND NOT EXISTS (SELECT 1 FROM before_images AS image WHERE image.run = $1 AND image.ordinal = items.ordinal)
         ORDER BY ordinal LIMIT $3`,
        [run, after, limit],
        'payload',
      )
      return rows.map(plannedOfRow)
    },
  } satisfies BeforeImages
}
