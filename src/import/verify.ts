// Verify: what was written is read back, by `in` filters of 100 keys, and compared. Accepted but different is a result
// of its own. Items whose answer was lost are settled by asking, before anyone is told that they failed.

import { IN_VALUES_MAX, type PropertyWire } from '../contract/index.ts'
import { MappingError } from '../core/errors.ts'
import { VERIFY_SAMPLE_ROWS } from '../core/limits.ts'
import type { ImportConfig } from '../core/sync.ts'
import type { RunSchema } from '../ledger/ledger.ts'
import { differences } from './compare.ts'
import { lookUp, sentOf } from './look-up.ts'
import { marker } from './marks.ts'
import { beatWhile } from '../runs/beat-while.ts'
import type { ImportDeps } from './ports.ts'

type Sent = ReturnType<typeof sentOf>

/** What reading back showed, in items. */
export interface VerifyResult {
  readonly read: number
  readonly equal: number
  readonly different: number
  readonly missing: number
}

async function propertiesOf(
  deps: ImportDeps,
  config: ImportConfig,
): Promise<readonly PropertyWire[]> {
  const { signal, priority } = deps
  const reading = deps.client.readObjectType(config.object_type, { signal, priority })
  return (await beatWhile(deps, reading)).properties
}

/** Verifies a run's written items as the sync says, and settles those in doubt. */
export async function verify(
  deps: ImportDeps,
  job: { run: number; config: ImportConfig; schema: RunSchema | null; written: number },
): Promise<VerifyResult> {
  const { ledger } = deps
  const { run, config, schema } = job
  const marksOf = schema && marker(config, schema)
  const result = { read: 0, equal: 0, different: 0, missing: 0 }
  const every =
    config.verify === 'all'
      ? 1
      : config.verify === 'sample'
        ? Math.max(1, Math.floor(job.written / VERIFY_SAMPLE_ROWS))
        : Number.MAX_SAFE_INTEGER
  let after = 0
  let properties: readonly PropertyWire[] | null = null
  // Bounded by the run's items: every pass moves `after` forward.
  for (;;) {
    deps.signal.throwIfAborted()
    const items = await ledger.written(run, { after, every, limit: IN_VALUES_MAX })
    if (items.length === 0) return result
    after = items.at(-1)!.ordinal
    properties ??= await propertiesOf(deps, config)
    const typeOf = new Map(properties.map((property) => [property.name, property.field_type]))
    const matching = properties.find((property) => property.name === config.matching_property)
    if (!matching)
      throw new MappingError(config.object_type, [
        `matching_property ${config.matching_property} has gone from ${config.object_type}`,
      ])
    const found = await lookUp(deps, config, matching, items, Object.keys(config.properties))
    const verdicts = items.map((item) => {
      const record = found.get(item.key)
      const differing = record
        ? differences(sentOf(item), record.properties as Sent, (name) => typeOf.get(name) ?? 'text')
        : []
      const verdict = !record ? 'missing' : differing.length > 0 ? 'different' : 'equal'
      result.read++
      result[verdict]++
      return {
        ordinal: item.ordinal,
        verdict,
        recordId: record?.id ?? null,
        field: differing.length > 0 ? `/properties/${differing[0]}` : null,
        marks: marksOf ? marksOf(item) : null,
      } as const
    })
    await ledger.recordVerified(run, verdicts)
  }
}
