// Reconciliations: what is to be compared, what comparing showed, and the differences that are left.

import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type { ItemComparison, Ledger } from '../ledger.ts'
import { partition, REPLACED_MAX } from '../ranges.ts'
import {
  acceptedOfRow,
  byRecord,
  DIFFERENCE_COLUMNS,
  differenceCountsOfRows,
  differenceGroupOfRow,
  differenceOfRow,
  differenceValues,
  keepsLast,
  liveStates,
  subjectOf,
  uncomparedOfRow,
  writtenStates,
} from '../rows.ts'
import type { SqliteDatabase } from './database.ts'

type ReconcileMethods = Pick<
  Ledger,
  | 'uncompared'
  | 'recordCompared'
  | 'absentKeys'
  | 'noteDifferences'
  | 'writtenElsewhere'
  | 'recordDeleted'
  | 'settleDifferences'
  | 'differenceCounts'
  | 'differenceGroups'
  | 'differences'
  | 'reconciled'
  | 'loadStepState'
  | 'saveStepState'
  | 'noteRequests'
>

export function reconcileMethods(db: SqliteDatabase): ReconcileMethods {
  /** The destinations of the run's origin, org and object type, by their syncs. */
  const besides = (run: number) => {
    const own = db
      .sql(
        `SELECT destinations.* FROM runs JOIN destinations ON destinations.id = runs.destination
         WHERE runs.id = ?`,
      )
      .get(run)
    if (own === undefined) return []
    return db
      .sql(
        `SELECT id, sync, matching_property FROM destinations
         WHERE origin = ? AND org_id = ? AND object_type = ? ORDER BY sync, id`,
      )
      .all(String(own['origin']), Number(own['org_id']), String(own['object_type']))
      .map((row) => ({
        id: Number(row['id']),
        sync: String(row['sync']),
        isOwn: row['sync'] === own['sync'],
        hasSameKeys: row['matching_property'] === own['matching_property'],
      }))
  }

  const insertDifference = (
    run: number,
    difference: Parameters<typeof differenceValues>[0],
    repaired: boolean,
  ) =>
    db
      .sql(
        `INSERT INTO differences (run, number, repaired, ${DIFFERENCE_COLUMNS.join(', ')})
         VALUES (?1, (SELECT coalesce(max(number), 0) + 1 FROM differences WHERE run = ?1), ?2,
           ${DIFFERENCE_COLUMNS.map((_, at) => `?${at + 3}`).join(', ')})`,
      )
      .run(run, repaired ? 1 : 0, ...differenceValues(difference))

  const compared = (run: number, item: ItemComparison) => {
    const isStillPlanned = "run = ? AND ordinal = ? AND state = 'planned'"
    const { held } = item
    if (item.kind === null) {
      const { changes } = db
        .sql(
          `UPDATE items SET state = 'unchanged', verified = 'equal', record_id = ?, normalised = ? WHERE ${isStillPlanned}`,
        )
        .run(item.recordId, item.normalised ? 1 : 0, run, item.ordinal)
      if (changes === 0) return
      db.sql(
        `INSERT INTO accepted (destination, key, record_id, hash, marks, run, normalised)
           SELECT runs.destination, items.key, items.record_id, items.hash, ?, runs.id, items.normalised
           FROM items JOIN runs ON runs.id = items.run WHERE items.run = ? AND items.ordinal = ?
         ON CONFLICT (destination, key) DO UPDATE SET record_id = excluded.record_id, hash = excluded.hash,
           marks = excluded.marks, ${keepsLast}, run = excluded.run, normalised = excluded.normalised`,
      ).run(item.marks, run, item.ordinal)
      db.sql('DELETE FROM payloads WHERE run = ? AND ordinal = ?').run(run, item.ordinal)
    } else if (held) {
      const { changes } = db
        .sql(`UPDATE items SET state = 'unsent', reason = ?, detail = ? WHERE ${isStillPlanned}`)
        .run(held.reason, held.detail, run, item.ordinal)
      if (changes === 0) return
    } else if (!db.sql(`SELECT 1 FROM items WHERE ${isStillPlanned}`).get(run, item.ordinal)) return
    db.sql(
      'DELETE FROM differences INDEXED BY differences_ordinal WHERE run = ? AND ordinal = ?',
    ).run(run, item.ordinal)
    for (const difference of item.differences)
      insertDifference(run, { ...difference, ordinal: item.ordinal }, false)
    if (item.kind === null || held)
      db.sql(
        `UPDATE segments SET planned = planned - 1 WHERE run = ?1
           AND first = (SELECT max(first) FROM segments WHERE run = ?1 AND first <= ?2)`,
      ).run(run, item.ordinal)
  }

  return {
    async uncompared(run, { after, limit }) {
      return db
        .sql(
          `SELECT items.ordinal, items.key, payloads.payload, items.hash, items.attempts, items.raw_key,
             accepted.key AS accepted_key, accepted.record_id AS accepted_record_id, accepted.hash AS accepted_hash,
             accepted.marks AS accepted_marks, accepted.run AS accepted_run,
             accepted.read_back AS accepted_read_back, accepted.normalised AS accepted_normalised
           FROM items CROSS JOIN payloads ON payloads.run = items.run AND payloads.ordinal = items.ordinal
             LEFT JOIN accepted ON accepted.destination = (SELECT destination FROM runs WHERE id = ?1)
               AND accepted.key = items.key
           WHERE items.run = ?1 AND items.ordinal > ?2 AND items.state = 'planned'
             AND NOT EXISTS (SELECT 1 FROM differences INDEXED BY differences_ordinal
               WHERE differences.run = ?1 AND differences.ordinal = items.ordinal)
           ORDER BY items.ordinal LIMIT ?3`,
        )
        .all(run, after, limit)
        .map(uncomparedOfRow)
    },

    async recordCompared(run, items) {
      for (const part of partition(
        items,
        ({ differences }) => 1 + differences.length,
        REPLACED_MAX,
      )) {
        db.transaction(() => {
          for (const item of part) compared(run, item)
        })
        await yieldToOthers()
      }
    },

    async absentKeys(run, { after, limit }) {
      const rows = db
        .sql(
          `SELECT key, record_id, hash, marks, run, read_back, normalised, EXISTS
             (SELECT 1 FROM items INDEXED BY items_key WHERE items.run = ?1 AND items.key = accepted.key) AS present
           FROM accepted WHERE destination = (SELECT destination FROM runs WHERE id = ?1)
             AND key ${after === null ? '>=' : '>'} ?2
           ORDER BY key LIMIT ?3`,
        )
        .all(run, after ?? '', limit)
      return {
        keys: rows
          .filter((row) => row['present'] === 0 && row['record_id'] !== null)
          .map((row) => ({ ...acceptedOfRow(row), place: String(row['key']) })),
        next: rows.length < limit ? null : String(rows.at(-1)!['key']),
      }
    },

    async noteDifferences(run, differences, { repaired }) {
      const forget = db.sql(
        'DELETE FROM differences INDEXED BY differences_subject WHERE run = ? AND subject = ? AND stream = ?',
      )
      for (const part of partition(
        byRecord(differences),
        (record) => record.length,
        REPLACED_MAX,
      )) {
        db.transaction(() => {
          for (const record of part) {
            forget.run(run, subjectOf(record[0]!), record[0]!.stream)
            for (const difference of record) insertDifference(run, difference, repaired)
          }
        })
        await yieldToOthers()
      }
    },

    async writtenElsewhere(run, records) {
      const others = besides(run).filter(({ isOwn }) => !isOwn)
      const byKey = db.sql('SELECT 1 FROM accepted WHERE destination = ? AND key = ?')
      const byRecord = db.sql(
        'SELECT 1 FROM accepted INDEXED BY accepted_record WHERE destination = ? AND record_id = ?',
      )
      const written = new Map<string, string>()
      for (const { key, recordId } of records) {
        const other = others.find(
          ({ id, hasSameKeys }) =>
            (hasSameKeys && byKey.get(id, key)) || byRecord.get(id, recordId),
        )
        if (other) written.set(key, other.sync)
      }
      return written
    },

    async recordDeleted(run, records) {
      const forget = db.sql(
        'DELETE FROM accepted WHERE destination = (SELECT destination FROM runs WHERE id = ?) AND key = ?',
      )
      const forgetElsewhere = db.sql(
        'DELETE FROM accepted INDEXED BY accepted_record WHERE destination = ? AND record_id = ?',
      )
      const mend = db.sql(
        "UPDATE differences INDEXED BY differences_subject SET repaired = 1 WHERE run = ? AND subject = ? AND kind = 'extra'",
      )
      db.transaction(() => {
        const all = besides(run)
        for (const { key, recordId } of records) {
          forget.run(run, key)
          for (const { id } of all) forgetElsewhere.run(id, recordId)
          mend.run(run, subjectOf({ key, recordId }))
        }
      })
    },

    async settleDifferences(run) {
      const mend = db.sql(
        `UPDATE differences SET repaired = 1 WHERE run = ?1 AND number BETWEEN ?2 AND ?3 AND repaired = 0
           AND EXISTS (SELECT 1 FROM items WHERE items.run = ?1 AND items.ordinal = differences.ordinal
             AND items.state IN (${writtenStates}) AND coalesce(items.verified, 'equal') = 'equal')`,
      )
      const end = Number(
        db.sql('SELECT max(number) AS last FROM differences WHERE run = ?').get(run)?.['last'] ?? 0,
      )
      for (let first = 1; first <= end; first += LEDGER_ROWS_MAX) {
        db.transaction(() => mend.run(run, first, first + LEDGER_ROWS_MAX - 1))
        await yieldToOthers()
      }
    },

    async differenceCounts(run) {
      return differenceCountsOfRows(
        db
          .sql(
            `SELECT kind, count(*) AS found, sum(repaired = 0) AS remaining FROM
               (SELECT kind, min(repaired) AS repaired FROM differences INDEXED BY differences_subject
                WHERE run = ? GROUP BY subject, stream, kind)
             GROUP BY kind`,
          )
          .all(run),
      )
    },

    async differenceGroups(run) {
      return db
        .sql(
          `SELECT stream, kind, field, whose, count(*) AS differences, sum(repaired) AS repaired,
             min(ordinal) AS example
           FROM differences WHERE run = ? GROUP BY stream, kind, field, whose
           ORDER BY differences DESC, stream, kind, field, whose LIMIT 1000`,
        )
        .all(run)
        .map(differenceGroupOfRow)
    },

    async differences(run, { after, limit, kind, isRepaired }) {
      const rows = db
        .sql(
          `SELECT * FROM differences WHERE run = ?1 AND number > ?2 AND (?4 IS NULL OR kind = ?4)
             AND (?5 IS NULL OR repaired = ?5) ORDER BY number LIMIT ?3`,
        )
        .all(run, after, limit, kind ?? null, isRepaired === undefined ? null : Number(isRepaired))
      return {
        rows: rows.map(differenceOfRow),
        next: rows.length < limit ? null : Number(rows.at(-1)!['number']),
      }
    },

    async reconciled(sync) {
      const verified = db
        .sql(
          `SELECT verified_through FROM runs WHERE sync = ? AND purpose = 'reconcile' AND mode = 'run'
             AND verified_through IS NOT NULL ORDER BY id DESC LIMIT 1`,
        )
        .get(sync)
      return {
        verifiedThrough: verified === undefined ? null : String(verified['verified_through']),
      }
    },

    async loadStepState(run, stream) {
      const row = db
        .sql('SELECT place FROM streams WHERE run = ? AND stream = ? AND place IS NOT NULL')
        .get(run, stream)
      return row === undefined ? null : String(row['place'])
    },

    async saveStepState(run, stream, place) {
      db.sql(
        `INSERT INTO streams (run, stream, place, state, requests, read, inserted, changed, unchanged, deleted)
           SELECT id, ?, ?, 'place', 0, 0, 0, 0, 0, 0 FROM runs WHERE id = ? AND state IN (${liveStates})
         ON CONFLICT (run, stream) DO UPDATE SET place = excluded.place`,
      ).run(stream, place, run)
    },

    async noteRequests(run, step, count) {
      db.sql(
        `INSERT INTO streams (run, stream, state, requests, read, inserted, changed, unchanged, deleted)
           SELECT id, ?, 'place', ?, 0, 0, 0, 0, 0 FROM runs WHERE id = ? AND state IN (${liveStates})
         ON CONFLICT (run, stream) DO UPDATE SET requests = requests + excluded.requests`,
      ).run(step, count, run)
    },
  }
}
