// Documents that mean harm: whatever they hold.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { resolveOperations } from '../../../src/client/index.ts'
import { EVERY_OPERATION, isPath } from '../../../src/contract/index.ts'
import { fixture } from './variant-service.ts'
import { runs } from '../../runs.ts'

test('whatever is in a document, there is a request for every operation, and no foreign text in a message', () => {
  const whole = JSON.stringify(fixture('put-batch'))
  const foreignText = 'FOREIGN \u001B[31m'
  const value = fc.constantFrom<unknown>(
    null,
    0,
    true,
    [],
    {},
    [[[]]],
    foreignText,
    { $ref: '#' },
    { $ref: '#/paths' },
    { type: ['array', 'null'], items: { $ref: '#/components/schemas/Record' } },
    { url: foreignText },
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(), value), { minLength: 1, maxLength: 12 }), (changes) => {
      const document = JSON.parse(whole) as object
      for (const [at, to] of changes) replaceAt(document, at, to)
      const { operations, warnings } = resolveOperations(document)
      for (const id of EVERY_OPERATION) {
        const { path, reason } = operations[id]
        expect(isPath(path)).toBe(true)
        expect(reason).not.toContain('FOREIGN')
      }
      expect(warnings.join()).not.toContain('FOREIGN')
    }),
    { numRuns: runs(1_000) },
  )
})

/** Puts `to` in the place of the member that comes as number `at` in the document, round and round. */
function replaceAt(document: object, at: number, to: unknown): void {
  const members: [Record<string, unknown>, string][] = []
  const open: unknown[] = [document]
  for (const node of open) {
    if (typeof node !== 'object' || node === null) continue
    for (const name of Object.keys(node)) {
      members.push([node as Record<string, unknown>, name])
      open.push((node as Record<string, unknown>)[name])
    }
  }
  const [holder, name] = members[at % members.length] ?? []
  if (holder && name !== undefined) holder[name] = structuredClone(to)
}
