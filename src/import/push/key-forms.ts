// Rows whose key stands in the source with space around it, or in another form of Unicode. They are sent by their key; but a record
// that is there under the form of the row, which earlier versions sent, and under no other, is found by that form only.

import { parseJson, writeJson, type Json } from '../../core/json.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { Outbox, RunSchema, RunSegment } from '../../ledger/ledger.ts'
import { IN_VALUES_MAX } from '../../contract/index.ts'
import { lookUpValues, payloadProperties } from '../verify/look-up.ts'
import type { ImportDeps } from '../ports.ts'
import { stagedMatchingProperty } from '../mapping/types.ts'

/** Two values for each item. */
const ITEMS_MAX = Math.floor(IN_VALUES_MAX / 2)

/** Decides by which form each planned item of a segment is sent whose key has two. What was decided is not asked again. */
export async function resolveKeyForms(
  deps: ImportDeps<Outbox>,
  job: { run: number; config: ImportConfig; schema: RunSchema | null; segment: RunSegment },
): Promise<void> {
  const { ledger } = deps
  const { run, config, schema, segment } = job
  const matching = stagedMatchingProperty(config, schema)
  // Bounded by the segment's items: what was settled is not given again.
  for (;;) {
    deps.signal.throwIfAborted()
    const items = await ledger.looseKeys(run, segment, { limit: ITEMS_MAX })
    if (items.length === 0) return
    const values = items.flatMap((item) => [
      item.rawKey!,
      ...[payloadProperties(item)[matching.name]].flat(),
    ])
    const held = await lookUpValues(deps, config, matching, values as Json[])
    await ledger.settleKeys(
      run,
      items.map((item) => {
        const { properties } = parseJson(item.payload) as unknown as {
          properties: Record<string, Json>
        }
        const sent = properties[matching.name]!
        const [text] = [sent].flat()
        const isRaw = held.has(item.rawKey!) && !held.has(String(text))
        if (!isRaw) return { ordinal: item.ordinal, payload: null }
        const raw = Array.isArray(sent) ? [item.rawKey!] : item.rawKey!
        const payload = writeJson({ properties: { ...properties, [matching.name]: raw } })
        return { ordinal: item.ordinal, payload }
      }),
    )
    deps.beat()
  }
}
