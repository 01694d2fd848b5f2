// The word that a person probably meant: near by its letters, or a part of what was written.

import { expect, test } from 'vitest'
import { nearestWord } from '../../../src/core/suggest.ts'

const COLUMNS = ['Telefon', 'E-Mail', 'Vorname', 'PLZ', 'Ort', 'Mobiltelefon', 'Website URL']

test.each([
  ['Telefonnummer', 'Telefon'],
  ['telefon', 'Telefon'],
  ['Telefn', 'Telefon'],
  ['Mobiltelefonnummer', 'Mobiltelefon'],
  ['Website', 'Website URL'],
  ['Work E-Mail', 'E-Mail'],
  ['Expect svc E-Mail', undefined],
  ['vorname ', 'Vorname'],
  ['Ortsteil', undefined],
  ['Kundennummer', undefined],
  ['', undefined],
])('%o means %o', (written, meant) => {
  expect(nearestWord(written, COLUMNS)).toBe(meant)
})
