// What a search finds: syncs by a part of their name, a run by its number.

import { z } from 'zod'
import type { ConsoleReadings } from '../readings.ts'
import { count, anyText as text, time } from './shapes.ts'

const FOUND_MAX = 50

export const searchResult = z
  .object({
    query: text,
    syncs: z.array(z.object({ sync: text, kind: z.enum(['import', 'mirror']) })),
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
  return { query: words, syncs, runs }
}
