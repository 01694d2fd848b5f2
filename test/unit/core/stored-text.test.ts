// U+0000, which PostgreSQL's text cannot hold, is lost in no text, and makes no two texts equal.

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { decodeStoredText, encodeStoredText } from '../../../src/core/stored-text.ts'

const text = fc
  .array(fc.constantFrom('\0', '\u001a', '0', '1', 'a', 'ü', '𝒳', '\\', '"', '{', ','))
  .map((parts) => parts.join(''))

it('comes back as it was', () => {
  fc.assert(
    fc.property(text, (each) => {
      expect(decodeStoredText(encodeStoredText(each))).toBe(each)
      expect(encodeStoredText(each)).not.toContain('\0')
    }),
  )
})

it('is stored differently where it differs', () => {
  fc.assert(
    fc.property(text, text, (one, other) => {
      expect(encodeStoredText(one) === encodeStoredText(other)).toBe(one === other)
    }),
  )
})

it('is stored as it is where it is ordinary', () => {
  expect(encodeStoredText('Zoë, 株式会社\n\t\\x00')).toBe('Zoë, 株式会社\n\t\\x00')
})
