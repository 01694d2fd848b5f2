// Push, for a sync whose rows only link: nothing of a row is written, its record is found. The ledger knows most of them, from the sync
// that writes the type, or from links that were made before; the others are looked up, 100 keys a request.

import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type {
  ItemOutcome,
  KnownLinks,
  Outbox,
  PlannedItem,
  Runs,
  RunSegment,
} from '../../ledger/ledger.ts'
import { stagedMatchingProperty } from '../mapping/types.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { blankOutcome } from '../look/outcome.ts'
import { AMBIGUOUS } from '../judge/choose-rows.ts'
import type { PushResult } from '../judge/claimed-segment.ts'
import { SEVERAL_RECORDS } from '../look/read-back.ts'
import { RecordFinder, type FoundRecord } from '../look/record-finder.ts'

/** Settles the rows of a segment as `exists` or `absent`, until none is left or time runs out. */
export async function findRows(
  deps: ImportDeps<KnownLinks & Outbox & Runs>,
  { run, config, schema, segment }: StagedImport & { readonly segment: RunSegment },
): Promise<PushResult> {
  const { ledger, clock, signal, tuning } = deps
  const endsAtMs = clock.now() + tuning.segment_ms
  const fence = await ledger.claimSegment(run, segment)
  const matching = stagedMatchingProperty(config, schema)
  const { origin, orgId, objectType, matchingProperty } = (await ledger.destinationOf(run))!
  const finder = new RecordFinder(
    deps,
    run,
    { origin, orgId, objectType, matchingProperty },
    matching,
  )
  const result = { requests: 0, refusedInRow: 0 }
  // Bounded by the items: every pass settles those that it read.
  for (;;) {
    signal.throwIfAborted()
    const choice = { after: segment.first - 1, attemptsBelow: 1, limit: LEDGER_ROWS_MAX }
    const items = await ledger.nextPlanned(run, segment, choice)
    if (items.length === 0) break
    const keys = items.map(({ key }) => key)
    // No link is made at a hint: the link step looks both ends up.
    const hints = await finder.hints(keys, await linkedSources(ledger, run, keys))
    const found = await finder.find(keys.filter((key) => !hints.has(key)))
    const outcomes = items.map((item) => {
      const id = hints.get(item.key)
      return outcomeOf(item, id === undefined ? found.get(item.key)! : { id }, matching.name)
    })
    await ledger.settleUnanswered(run, segment, fence, outcomes)
    deps.beat(items.length)
    if (clock.now() >= endsAtMs) return { ...result, done: false }
  }
  await ledger.finishSegment(run, segment, fence)
  return { ...result, done: true }
}

/** The records of keys that were linked before. */
async function linkedSources(
  ledger: KnownLinks,
  run: number,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const known = await ledger.knownLinksOf(run, [...new Set(keys)])
  const sources = new Map<string, string>()
  for (const [key, links] of known)
    for (const { state, sourceId } of links)
      if (state === 'linked' && sourceId !== null) sources.set(key, sourceId)
  return sources
}

function outcomeOf(item: PlannedItem, found: FoundRecord, property: string): ItemOutcome {
  if (found === 'none') return blankOutcome(item, 'not_found')
  if (found !== 'several') return { ...blankOutcome(item, 'exists'), recordId: found.id }
  const field = `/properties/${property}`
  return { ...blankOutcome(item, 'refused'), ...AMBIGUOUS, field, detail: SEVERAL_RECORDS }
}
