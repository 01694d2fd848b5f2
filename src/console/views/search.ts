// What a search finds: syncs by a part of their name, a run by its number, a row by its key or its record.

import { z } from 'zod'
import type { ConsoleReadings } from '../readings.ts'
import { knowsRow, SUBJECT_CHARS_MAX } from './row.ts'
import { count, anyText as text, time } from './shapes.ts'

const FOUND_MAX = 50

export const searchResult = z
  .object({
    query: text,
    syncs: z.array(z.object({ sync: text, kind: z.enum(['import', 'mirror']) })),
    rows: z.array(z.object({ by: z.enum(['key', 'record']), value: text })),
    runs: z.array(z.object({ run: count, sync: text, state: text, opened_at: time })),
  })
  .meta({ id: 'SearchResult' })
export type SearchResult = z.output<typeof searchResult>

/** @throws LedgerAway */
export async function readSearch(readings: ConsoleReadings, query: string): Promise<SearchResult> {
  const words = query.trim()
  const { config } = await readings.config()
  const part = words.toLowerCase()
  const syncs = Object.values(config.syncs)
    .filter(({ name }) => words !== '' && name.toLowerCase().includes(part))
    .slice(0, FOUND_MAX)
    .map(({ name, kind }) => ({ sync: name, kind }))
  const id = /^#?\d{1,9}$/.test(words) ? Number(words.replace('#', '')) : null
  const run = id === null ? null : await readings.ledger((ledger) => ledger.run(id))
  const runs = run
    ? [{ run: run.id, sync: run.sync, state: run.state, opened_at: run.openedAt }]
    : []
  const isSubject = words !== '' && words.length <= SUBJECT_CHARS_MAX
  const known = isSubject ? await readings.ledger((ledger) => knowsRow(ledger, words)) : null
  const rows = (['key', 'record'] as const)
    .filter((by) => known?.[by])
    .map((by) => ({ by, value: words }))
  return { query: words, syncs, rows, runs }
}
