// What the rules about listings and queries share: their calls, and the comparison of two readings.

import { broken } from './expect.ts'
import type { Kit } from './kit.ts'
import type { Call } from './types.ts'
import type { Found, Sample } from './types.ts'
import type { Exchange } from './wire.ts'

export const listOf = (sample: Sample): Call => ({
  operation: 'listRecords',
  objectType: sample.type.name,
})

export const queryOf = (sample: Sample, body: object, sent?: string): Call => ({
  operation: 'queryRecords',
  objectType: sample.type.name,
  body,
  sent: sent ?? JSON.stringify(body),
})

const idsOf = (records: readonly Found[]) => records.map(({ id }) => id).toSorted()

/**
 * Whether two readings give the same records; when they do not, both are made again, since others may write meanwhile.
 * @throws Broken
 */
export async function expectSameRecords(
  read: () => Promise<{ due: readonly Found[]; found: readonly Found[]; exchange: Exchange }>,
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

/** A sample read anew. */
export async function fresh(kit: Kit, sample: Sample): Promise<Sample> {
  kit.survey.forget(sample.type.name)
  return await kit.survey.sample(sample.type.name)
}
