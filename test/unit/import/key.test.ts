// Two rows with one key mean one record: whatever is written otherwise but means the same has the same key.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../../src/core/json.ts'
import { composed } from '../../../src/core/look.ts'
import { itemKey } from '../../../src/import/mapping/key.ts'
import { runs } from '../../runs.ts'

it('a text is composed as Unicode composes it, whichever character begins it', () => {
  const ends = ['', '\u0301', 'e\u0301', '\u1161', '\u0345']
  for (let code = 0x21; code < 0x1_0000; code++)
    for (const end of ends) {
      const text = String.fromCharCode(code) + end
      if (composed(text) !== text.normalize('NFC')) expect.fail(`U+${code.toString(16)}`)
    }
})

describe('itemKey', () => {
  it.each<[what: string, value: Json | undefined, type: string, key: string | null]>([
    ['trimmed', ' a b\t', 'text', 'a b'],
    ['a no-break space trimmed', '\u00a0a\u00a0', 'text', 'a'],
    ['composed', 'Ju\u0308rgen', 'text', 'J\u00fcrgen'],
    ['case kept in text', 'ABC', 'text', 'ABC'],
    ['case folded in e-mails', ' Ada@Example.COM', 'email', 'ada@example.com'],
    ['case folded in urls', 'HTTPS://Example.com/A', 'url', 'https://example.com/a'],
    ['composed after folding', 'J\u030c@example.com', 'email', '\u01f0@example.com'],
    ['zeros kept in text', '007', 'text', '007'],
    ['zeros dropped in numbers', '007.50', 'number', '7.5'],
    ['a JSON number', 7.5, 'number', '7.5'],
    ['a large JSON number', 1e21, 'number', '1000000000000000000000'],
    ['minus zero', '-0', 'number', '0'],
    ['a boolean', false, 'boolean', 'false'],
    ['one value of many possible', [' A@b.de '], 'email', 'a@b.de'],
    ['two values', ['a', 'b'], 'text', null],
    ['no values', [], 'text', null],
    ['a blank value among values', [' '], 'text', null],
    ['an empty text', '', 'text', null],
    ['white space', ' \t\n', 'text', null],
    ['null', null, 'text', null],
    ['nothing', undefined, 'text', null],
    ['an object', { amount: '1', unit: 'EUR' }, 'currency', null],
  ])('%s: %j', (_, value, type, key) => {
    expect(itemKey(value, type)).toBe(key)
  })

  const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }))
  const type = fc.constantFrom('text', 'email', 'url', 'number', 'phone')

  it('of a key is that key', () => {
    fc.assert(
      fc.property(text, type, (value, fieldType) => {
        const key = itemKey(value, fieldType)
        if (key !== null) expect(itemKey(key, fieldType)).toBe(key)
      }),
      { numRuns: runs(1_000) },
    )
  })

  it('does not depend on white space around, on composition, or on being alone in a list', () => {
    const space = fc.constantFrom('', ' ', '\t', '\r\n', '\u00a0', '\u3000')
    fc.assert(
      fc.property(text, type, space, space, (value, fieldType, before, after) => {
        const key = itemKey(value, fieldType)
        expect(itemKey(before + value + after, fieldType)).toBe(key)
        expect(itemKey(value.normalize('NFD'), fieldType)).toBe(
          itemKey(value.normalize('NFC'), fieldType),
        )
        expect(itemKey([value], fieldType)).toBe(key)
      }),
      { numRuns: runs(1_000) },
    )
  })

  it('does not depend on case where the type does not', () => {
    const letters = fc.string({ unit: fc.constantFrom(...'abcxyzäöüéñ@.-_0123456789') })
    fc.assert(
      fc.property(letters, fc.constantFrom('email', 'url'), (value, fieldType) => {
        expect(itemKey(value.toUpperCase(), fieldType)).toBe(itemKey(value, fieldType))
      }),
    )
  })

  it('keeps texts apart that differ in more than that', () => {
    const word = fc.string({ unit: fc.constantFrom(...'abAB01. '), maxLength: 4 })
    fc.assert(
      fc.property(word, word, (a, b) => {
        expect(itemKey(a, 'text') === itemKey(b, 'text')).toBe(a.trim() === b.trim())
      }),
      { numRuns: runs(1_000) },
    )
  })
})
