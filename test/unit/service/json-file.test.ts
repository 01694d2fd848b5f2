// Where a text stops being JSON: judged by JSON.parse.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { faultIn } from '../../../src/service/schema/json-file.ts'
import { runs } from '../../runs.ts'

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe('the place where a text stops being JSON', () => {
  it.each([
    ['', 0],
    [' [1, 2', 6],
    ['[1,]', 3],
    ['{"a": 1,}', 8],
    ['{a: 1}', 1],
    ["{'a': 1}", 1],
    ['{"a" 1}', 5],
    ['{"a": // one\n1}', 6],
    ['{"a": "b', 6],
    ['{"a": "\n"}', 6],
    ['{"a": "\\x"}', 6],
    ['[1}', 2],
    ['[01]', 2],
    ['[1.]', 2],
    ['[-]', 1],
    ['[tru]', 1],
    ['[NaN]', 1],
    ['[,1]', 1],
    ['[]]', 2],
    ['{} {}', 3],
    ['\u00a0{}', 0],
  ])('of %j is %i', (text, index) => {
    expect(isJson(text)).toBe(false)
    expect(faultIn(text)).toBe(index)
  })

  it('is there exactly where JSON.parse refuses, and what stands before it is not to blame', () => {
    const spoilt = fc
      .tuple(
        fc.json({ maxDepth: 3 }),
        fc.nat(),
        fc.nat({ max: 2 }),
        fc.constantFrom('', ...'{}[],:" \n\\01-.etrue'),
      )
      .map(([json, place, length, other]) => {
        const at = place % (json.length + 1)
        return json.slice(0, at) + other + json.slice(at + length)
      })
    fc.assert(
      fc.property(spoilt, (text) => {
        const index = faultIn(text)
        expect(index === null).toBe(isJson(text))
        if (index === null) return
        // The same beginning has the same fault, whatever follows; one that ends before it has none.
        expect(faultIn(`${text.slice(0, index)}?`)).toBe(index)
      }),
      { numRuns: runs(2_000) },
    )
  })
})
