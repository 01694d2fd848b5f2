// Syncs whose waiting links may find their records now: after a run that has written some, and after one that has waiting links while
// another run wrote their targets. Each sync sends its own links, so a run of each is started for them.

import { writesRecords } from '../../core/domain/import-modes.ts'
import {
  countTargetMissing,
  isComplete,
  type Books,
  type RunState,
} from '../../core/domain/books.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type { ImportSync, SyncConfig } from '../../../config/index.ts'
import type { Destination, KnownLink, KnownLinks, Run, Runs } from '../../ledger/ledger.ts'

/** Syncs that one run wakes. */
const SYNCS_MAX = 50

type WaitingLedger = Pick<Runs, 'destinationOf' | 'liveRuns' | 'run' | 'runs'> & KnownLinks

/** A run that has ended. */
interface EndedRun {
  readonly row: Pick<Run, 'id' | 'sync' | 'purpose' | 'openedAt'>
  readonly state: RunState
  readonly books: Books
}

export const isLinking = (sync: SyncConfig): sync is ImportSync =>
  sync.kind === 'import' && sync.import.links !== undefined

/** Their names. One that is at work is left out: its own run takes the links up, or looks for their targets when it ends. */
export async function syncsToLink(
  ledger: WaitingLedger,
  { row, state, books }: EndedRun,
  syncs: readonly SyncConfig[],
): Promise<readonly string[]> {
  const linking = syncs.filter(isLinking)
  const run = row.id
  const home = linking.length === 0 || !isComplete(state) ? null : await ledger.destinationOf(run)
  if (home === null) return []
  const isOwn = countTargetMissing(books) > 0 && (await isLate(ledger, row, home))
  const own = isOwn && linking.some(({ name }) => name === row.sync) ? [row.sync] : []
  const { created, updated } = books.states
  return created + updated === 0 ? own : [...own, ...(await waiting(ledger, run, home, linking))]
}

/** Other syncs that wait for what a run has written. */
async function waiting(
  ledger: WaitingLedger,
  run: number,
  home: Destination,
  linking: readonly ImportSync[],
): Promise<readonly string[]> {
  const waiting = new Map((await ledger.waitingElsewhere(run)).map((one) => [one.sync, one]))
  const live = new Set((await ledger.liveRuns()).map(({ sync }) => sync))
  const found: string[] = []
  for (const sync of linking) {
    if (live.has(sync.name) || sync.name === home.sync || found.length >= SYNCS_MAX) continue
    const mayLink =
      waiting.get(sync.name)?.mayExist === true || (await waitsForRecords(ledger, sync, home))
    if (mayLink) found.push(sync.name)
  }
  return found
}

/** Whether another run has brought a target of the run's own waiting links while it was at work. */
async function isLate(
  ledger: WaitingLedger,
  { id, purpose, openedAt }: EndedRun['row'],
  { origin, orgId }: Destination,
): Promise<boolean> {
  // It was started for them, and has looked.
  if (purpose === 'links') return false
  const ended = new Map<number, string | null>()
  // Bounded by what is known: every page goes on behind the one before it.
  for (let after: string | null = null; ;) {
    const page: Awaited<ReturnType<KnownLinks['knownLinks']>> = await ledger.knownLinks(id, {
      after,
      limit: LEDGER_ROWS_MAX,
      isParked: true,
    })
    const targets = new Map<string, KnownLink[]>()
    for (const link of page.links) {
      if (link.by === null) continue
      const name = JSON.stringify([link.to, link.by])
      targets.set(name, [...(targets.get(name) ?? []), link])
    }
    for (const links of targets.values()) {
      const { to, by } = links[0]!
      const type = { origin, orgId, objectType: to, matchingProperty: by! }
      const keys = links.map(({ target }) => target)
      for (const { run } of (await ledger.recordsOfType(type, keys)).values()) {
        if (!ended.has(run)) ended.set(run, (await ledger.run(run))?.closedAt ?? null)
        if ((ended.get(run) ?? '') > openedAt) return true
      }
    }
    if (page.next === null) return false
    after = page.next
  }
}

/** Whether rows of a sync that only links wait for records of the type that the run wrote. */
async function waitsForRecords(
  ledger: WaitingLedger,
  { name, import: { mode } }: ImportSync,
  home: Destination,
): Promise<boolean> {
  const [last] = writesRecords(mode) ? [] : await ledger.runs({ sync: name, limit: 1 })
  const theirs = last ? await ledger.destinationOf(last.id) : null
  const isOfType =
    theirs?.origin === home.origin &&
    theirs.orgId === home.orgId &&
    theirs.objectType === home.objectType
  if (!last || !isOfType) return false
  // Bounded by what is known: every page goes on behind the one before it.
  for (let after: string | null = null; ;) {
    const page: Awaited<ReturnType<KnownLinks['knownLinks']>> = await ledger.knownLinks(last.id, {
      after,
      limit: LEDGER_ROWS_MAX,
      isParked: true,
    })
    const keys = page.links.filter(({ sourceId }) => sourceId === null).map(({ key }) => key)
    // Of another property the ledger does not know the values.
    if (keys.length > 0 && theirs.matchingProperty !== home.matchingProperty) return true
    if (keys.length > 0 && (await ledger.recordsOfType(home, keys)).size > 0) return true
    if (page.next === null) return false
    after = page.next
  }
}
