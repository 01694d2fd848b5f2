// Entries added to a configuration: all that was there stays, or nothing is done.

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { placeOfEntry, withEntries } from '../../../config/index.ts'

const entry = {
  part: 'syncs',
  name: 'new',
  lines: ['new:', '  a: 1 # why', '  # later: 2'],
} as const
const added = (text: string) => withEntries(text, [entry], {})

it.each([
  ['syncs:\n  x: 1\n', 'syncs:\n  x: 1\n  new:\n    a: 1 # why\n    # later: 2\n'],
  ['syncs:\n  x: 1', 'syncs:\n  x: 1\n  new:\n    a: 1 # why\n    # later: 2\n'],
  [
    'syncs:\n   x: |\n     text\n\n# end\nledger: a\n',
    'syncs:\n   x: |\n     text\n   new:\n     a: 1 # why\n     # later: 2\n\n# end\nledger: a\n',
  ],
  ['syncs: {} # none\n', 'syncs: # none\n  new:\n    a: 1 # why\n    # later: 2\n'],
  ['ledger: a\n', 'ledger: a\n\nsyncs:\n  new:\n    a: 1 # why\n    # later: 2\n'],
])('%j', (text, expected) => {
  expect(added(text)).toBe(expected)
})

it.each([
  ['a part in one line', 'syncs: { x: 1 }\n'],
  ['a name that is there', 'syncs:\n  new: 1\n'],
  ['a text that looks like the part', 'ledger: "a\n\nsyncs:\n  b"\nsyncs:\n  x: 1\n'],
  ['an alias', 'syncs: *other\n'],
  ['several documents', 'syncs:\n  x: 1\n---\na: 1\n'],
])('%s: nothing is changed', (_, text) => {
  expect(added(text)).toBeNull()
})

it('says where a person puts it', () => {
  expect(placeOfEntry('a: 1\nsyncs: { x: 1 }\n', entry)).toEqual({ line: 2, indent: '  ' })
  expect(placeOfEntry('a: 1\n', entry)).toEqual({ line: 0, indent: '  ' })
})

const name = fc.stringMatching(/^[a-z]{1,6}$/)
const value = fc.oneof(
  fc.integer().map(String),
  fc.constantFrom('"a: # b"', '|\n      line\n\n      syncs:\n', '{ a: [1, 2] }', 'x # why'),
)
const part = fc.tuple(
  fc.constantFrom('connections', 'syncs', 'ledger'),
  fc.array(fc.tuple(name, value, fc.constantFrom('', '\n', '  # a comment\n', '# a comment\n')), {
    minLength: 1,
    maxLength: 4,
  }),
)

it('whatever the file, it says the same and what was added, or it is left alone', () => {
  let done = 0
  fc.assert(
    fc.property(fc.uniqueArray(part, { selector: ([one]) => one, maxLength: 3 }), (parts) => {
      const text = parts
        .map(([key, entries]) => {
          const lines = new Map(
            entries.map(([one, of, after]) => [one, `  ${one}: ${of}\n${after}`]),
          )
          return `${key}:\n${[...lines.values()].join('')}`
        })
        .join('')
      const result = added(text)
      if (result === null) return
      done += 1
      const { syncs, ...rest } = parse(result) as Record<string, Record<string, unknown>>
      const { syncs: before = {}, ...others } = (parse(text) ?? {}) as typeof rest
      expect(rest).toEqual(others)
      expect(syncs).toEqual({ ...before, new: { a: 1 } })
    }),
  )
  expect(done).toBeGreaterThan(50)
})
