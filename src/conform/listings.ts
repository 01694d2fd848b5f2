// The comparison of two readings, which the rules about listings and queries share.

import { broken } from './expect.ts'
import type { RuleContext } from './rule-context.ts'
import type { ProbedRecord, RecordSample } from './types.ts'
import type { WireExchange } from './wire.ts'

const idsOf = (records: readonly ProbedRecord[]) => records.map(({ id }) => id).toSorted()

/**
 * Whether two reads give the same records; if they do not, both are repeated, because other clients may write meanwhile.
 * @throws Broken
 */
export async function expectSameRecords(
  read: () => Promise<{
    due: readonly ProbedRecord[]
    found: readonly ProbedRecord[]
    exchange: WireExchange
  }>,
  expected: string,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const { due, found, exchange } = await read()
    if (idsOf(due).join() === idsOf(found).join()) return
    if (attempt < 2) continue
    const got = `${found.length} records, ${due.length} were expected`
    throw broken(exchange, { at: '/data', expected, got })
  }
}

/** A sample, read again. */
export async function rereadSample(kit: RuleContext, sample: RecordSample): Promise<RecordSample> {
  kit.probe.forget(sample.type.name)
  return await kit.probe.sample(sample.type.name)
}
