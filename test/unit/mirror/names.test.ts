// Names that fit both warehouses, whatever the service calls its things.

import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fitName, createNamer } from '../../../src/mirror/names.ts'

const hash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 8)
const bytes = (text: string) => Buffer.byteLength(text)

/** Names of all kinds: long, in any script, halves of pairs, NUL, and likely to meet. */
const wish = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 90 }),
  fc.string({
    unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
    maxLength: 90,
  }),
  fc.string({
    unit: fc.constantFrom('a', 'A', 'é', 'e\u0301', 'É', 'ß', 'ss', '😀', '\0'),
    maxLength: 70,
  }),
)

describe('a name', () => {
  it('is the one that is wanted where it is free and fits', () => {
    for (const wanted of [
      'svc_contact',
      'Größe "X"',
      ' ',
      '"',
      'x'.repeat(63),
      `${'ü'.repeat(31)}x`,
    ])
      expect(fitName(wanted, ['other'])).toBe(wanted)
  })

  it.each([
    ['svc_x', ['svc_x']],
    ['svc_x', new Set(['SVC_X'])],
    ['Zoë', ['zoe\u0308']],
    ['straße', ['STRASSE']],
    ['ÉCOLE', ['e\u0301cole']],
  ])('%s gets a suffix where %j is taken', (wanted, taken) => {
    expect(fitName(wanted, taken)).toBe(`${wanted}_${hash(wanted)}`)
  })

  it('is cut between characters where it is too long', () => {
    expect(fitName('x'.repeat(64), [])).toBe(`${'x'.repeat(54)}_${hash('x'.repeat(64))}`)
    const long = `${'x'.repeat(53)}😀${'y'.repeat(40)}`
    expect(fitName(long, [])).toBe(`${'x'.repeat(53)}_${hash(long)}`)
    const umlauts = 'ü'.repeat(40)
    expect(fitName(umlauts, [])).toBe(`${'ü'.repeat(27)}_${hash(umlauts)}`)
    const longer = `${long}!`
    expect(fitName(longer, [])).not.toBe(fitName(long, []))
  })

  it('holds no NUL and no half of a pair, and is never empty', () => {
    expect(fitName('a\0b', [])).toBe(`ab_${hash('a\0b')}`)
    expect(fitName('a\uD83D', [])).toBe(`a\uFFFD_${hash('a\uD83D')}`)
    expect(fitName('', [])).toBe(`_${hash('')}`)
  })

  it('is another one where the suffixed one is taken too', () => {
    const first = `a_${hash('a')}`
    const second = fitName('a', ['a', first])
    expect(second).toMatch(/^a_[0-9a-f]{8}$/)
    expect(second).not.toBe(first)
  })

  it('is always writable, and does not depend on names that it does not meet', () => {
    fc.assert(
      fc.property(wish, fc.array(wish, { maxLength: 5 }), (wanted, taken) => {
        const name = fitName(wanted, taken)
        expect(bytes(name)).toBeGreaterThan(0)
        expect(bytes(name)).toBeLessThanOrEqual(63)
        expect(name).not.toMatch(/[\0\p{Surrogate}]/u)
        expect([wanted, `${name}`.slice(-9)]).toContain(
          name === wanted ? wanted : `_${hash(wanted)}`,
        )
        expect(fitName(wanted, [...taken].toReversed())).toBe(name)
      }),
    )
  })

  it('is unlike all others that were given, whatever their case and form', () => {
    fc.assert(
      fc.property(
        fc.array(wish, { maxLength: 12 }),
        fc.array(wish, { maxLength: 3 }),
        (wishes, taken) => {
          const give = createNamer(taken)
          const names = wishes.map(give)
          const forms = [...new Set(taken), ...names].map((name) =>
            name.normalize('NFC').toLowerCase(),
          )
          const met = new Set(taken.map((name) => name.normalize('NFC').toLowerCase())).size
          expect(new Set(forms).size).toBe(met + names.length)
        },
      ),
    )
  })
})
