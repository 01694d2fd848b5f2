// Rows whose key looks otherwise in the source: space around it, unseen characters, another form of Unicode. They are sent by their key; but a record that
// exists only under the form of the row, which another program sent, is found by that form only.

import { writeJson, type Json } from '../../core/json.ts'
import type { Outbox, RunSegment } from '../../ledger/ledger.ts'
import { IN_VALUES_MAX } from '../../contract/index.ts'
import { lookUpValues, parsed } from './look-up.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { stagedMatchingProperty } from '../mapping/types.ts'

/** Two values for each item. */
const ITEMS_MAX = Math.floor(IN_VALUES_MAX / 2)

/**
 * Decides the form of each planned item of a segment whose key has two. What was decided is not asked again. Returns how many requests
 * it took, of at most `requestsMax`.
 */
export async function resolveKeyForms(
  deps: ImportDeps<Outbox>,
  job: StagedImport & { segment: RunSegment },
  requestsMax = Infinity,
): Promise<number> {
  const { ledger } = deps
  const { run, config, schema, segment } = job
  const matching = stagedMatchingProperty(config, schema)
  // Bounded by the segment's items: what was settled is not given again.
  for (let requests = 0; ; requests++) {
    deps.signal.throwIfAborted()
    if (requests >= requestsMax) return requests
    const items = (await ledger.looseKeys(run, segment, { limit: ITEMS_MAX })).map(parsed)
    if (items.length === 0) return requests
    const values = items.flatMap((item) => [item.rawKey!, ...[item.sent[matching.name]].flat()])
    const held = await lookUpValues(deps, config, matching, values as Json[])
    await ledger.settleKeys(
      run,
      items.map((item) => {
        const key = item.sent[matching.name]!
        const [text] = [key].flat()
        const isRaw = held.has(item.rawKey!) && !held.has(String(text))
        if (!isRaw) return { ordinal: item.ordinal, payload: null }
        const raw = Array.isArray(key) ? [item.rawKey!] : item.rawKey!
        const payload = writeJson({ properties: { ...item.sent, [matching.name]: raw } })
        return { ordinal: item.ordinal, payload }
      }),
    )
    deps.beat()
  }
}
