// Baseline hashes are stored for as long as a sync lives: what one version writes, every later one reads.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../../src/core/json.ts'
import { baselineHash, createItemHasher } from '../../../src/import/look/baseline-hashes.ts'
import type { ImportConfig } from '../../../config/index.ts'
import { runs } from '../../runs.ts'

describe('a baseline hash is as every version has written it', () => {
  it.each<[type: string, value: Json | undefined, hash: string]>([
    ['text', undefined, 'gRydxQ'],
    ['text', '', 'gRydxQ'],
    ['text', 'Ada', 'mC2kiQ'],
    ['text', ' Ada ', 'mC2kiQ'],
    ['text', 'J\u00fcrgen M\u00fcller', 'kVb7qw'],
    ['text', 'Ju\u0308rgen Mu\u0308ller', 'kVb7qw'],
    ['text', '\u6771\u4eac', 'JXpLew'],
    ['email', 'A@X.de', '_4hpyw'],
    ['url', 'HTTPS://X.example/A/', 'ceUCzA'],
    ['multi_select', ['b', 'a'], '150wXA'],
    ['number', 12.5, 'wkMolQ'],
    ['number', '1250.00', '8TQyYw'],
    ['currency', { amount: '1250.00', unit: 'EUR' }, 'k-mvyQ'],
    ['datetime', '2026-01-31T08:15:00+01:00', 'tQQ7LA'],
    ['boolean', true, '1Wbwmw'],
  ])('%s %j', (type, value, hash) => {
    expect(baselineHash(value, type)).toBe(hash)
  })
})

it('a text that is plain has the hash that it has with a space before it, which is taken off', () => {
  const types = ['text', 'email', 'url', 'number', 'datetime', 'date', 'select', 'boolean']
  const character = fc.constantFrom(...'aZ09/.:-T ~\u007f\u0080\u00a0\u0308\u6771\t\0\n')
  const texts = fc.oneof(fc.string({ unit: character }), fc.string({ unit: 'grapheme' }))
  fc.assert(
    fc.property(texts, fc.constantFrom(...types), fc.boolean(), (text, type, isList) => {
      const given = isList ? [text] : text
      expect(baselineHash(given, type)).toBe(baselineHash(` ${text}`, type))
    }),
    { numRuns: runs(20_000) },
  )
})

it('the hashes of an item are in the order of its properties, with points for one that it leaves out', () => {
  const column = (name: string) => ({ column: name })
  const config = { properties: { b: column('b'), c: column('c'), a: column('a') } } as unknown
  const type = (name: string) => ({ type: name, isMulti: false, options: [] })
  const hashesOf = createItemHasher(config as ImportConfig, {
    a: type('number'),
    c: type('text'),
  })
  expect(hashesOf({ c: 'Ada', a: 12.5 })).toBe('wkMolQ......mC2kiQ')
  const inherited = createItemHasher(
    { properties: { constructor: column('b'), toString: column('c') } } as unknown as ImportConfig,
    {},
  )
  expect(inherited({})).toBe('............')
})
