// Two texts that look the same are one key, header or option; a text that looks otherwise stays another one.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasUnseen, isBlank, seenText, spelled, withoutUnseen } from '../../../src/core/look.ts'
import { runs } from '../../runs.ts'
import { UNSEEN } from './unseen.ts'

const code = (text: string) => `U+${text.codePointAt(0)!.toString(16)}`

describe.each(UNSEEN.map((unseen) => [code(unseen), unseen]))('%s', (_, unseen) => {
  it('is taken away before, in and behind a text, and said', () => {
    for (const text of [`${unseen}ZW1`, `Z${unseen}W1`, `ZW1${unseen}`, `ZW1${unseen}${unseen}`]) {
      expect(seenText(text)).toBe('ZW1')
      expect(withoutUnseen(text)).toBe('ZW1')
      expect(hasUnseen(text)).toBe(true)
    }
  })

  it('alone is nothing, and has a number that tells it apart', () => {
    expect(isBlank(` ${unseen}\t`)).toBe(true)
    expect(seenText(unseen)).toBe('')
    expect(spelled(`a${unseen}`)).toBe(`a\\u${code(unseen).slice(2).padStart(4, '0')}`)
  })
})

it.each([
  ['a no-break space', 'Ada\u00a0L', 'Ada L'],
  ['a narrow one', '12\u202f345', '12 345'],
  ['a thin one', '12\u2009345', '12 345'],
  ['an accent of its own', 'pre\u0301nom', 'prénom'],
  ['a hidden accent of its own', 'e\u200b\u0301', 'é'],
  ['Hangul in parts', '\u1112\u1161\u11ab', '한'],
  ['space around a hidden space', '\u00a0\u200b a \u200b', 'a'],
])('%s looks as usual', (_, text, look) => {
  expect(seenText(text)).toBe(look)
})

it.each([
  ['a Persian word', 'می\u200cخواهم'],
  ['a Bengali conjunct', 'ক\u09cd\u200dষ'],
  ['a Malayalam chillu', 'ന\u0d4d\u200d\u0d31'],
  ['a family', '👨\u200d👩\u200d👧'],
  ['a skin and a profession', '👩🏽\u200d💻'],
  ['a wide space', '山田\u3000太郎'],
  ['a tab', 'a\tb'],
  ['two spaces', 'a  b'],
  ['capitals', 'Ab'],
  ['another alphabet', 'аbc'],
])('%s stays', (_, text) => {
  expect(seenText(text)).toBe(text)
  expect(hasUnseen(text)).toBe(false)
})

it('a joiner behind what cannot be seen joins nothing', () => {
  for (const unseen of ['\u061c', '\u180e']) expect(seenText(`${unseen}\u200d❤`)).toBe('❤')
})

it('of a look is that look, wherever such characters are', () => {
  const unit = fc.constantFrom(
    ...UNSEEN,
    'a',
    'é',
    'e\u0301',
    'م',
    'क',
    '❤',
    '👩',
    '🏽',
    ' ',
    '\u00a0',
  )
  fc.assert(
    fc.property(fc.array(unit), (parts) => {
      const look = seenText(parts.join(''))
      expect(seenText(look)).toBe(look)
      expect(isBlank(parts.join(''))).toBe(look === '')
    }),
    { numRuns: runs(2_000) },
  )
})
