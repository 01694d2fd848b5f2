// What the rules about listings and queries share: their calls, and the comparison of two readings.

import { broken } from './expect.ts'
import type { RuleContext } from './rule-context.ts'
import type { RuleCall } from './types.ts'
import type { ProbedRecord, RecordSample } from './types.ts'
import type { WireExchange } from './wire.ts'

export const listCall = (sample: RecordSample): RuleCall => ({
  operation: 'listRecords',
  objectType: sample.type.name,
})

export const queryCall = (sample: RecordSample, body: object, sent?: string): RuleCall => ({
  operation: 'queryRecords',
  objectType: sample.type.name,
  body,
  sent: sent ?? JSON.stringify(body),
})

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
  kit.survey.forget(sample.type.name)
  return await kit.survey.sample(sample.type.name)
}
