import { expect, test } from 'vitest'
import { interpolate } from '../../../config/environment.ts'

const env = { A: 'one', EMPTY: '', NESTED: '${A}' }

test.each([
  ['plain', 'plain', false],
  ['${A}', 'one', true],
  ['<${A}${A}>', '<oneone>', true],
  ['${A:-two}', 'one', true],
  ['${B:-two}', 'two', true],
  ['${B:-}', '', true],
  ['${EMPTY}', '', true],
  ['${EMPTY:-two}', 'two', true],
  ['${B:-http://127.0.0.1:8080}', 'http://127.0.0.1:8080', true],
  // What a variable holds is text, and is not read again.
  ['${NESTED}', '${A}', true],
  ['$${A}', '${A}', false],
  ['$$${A}', '$${A}', false],
  ['cost: $5 or {A}, $A', 'cost: $5 or {A}, $A', false],
])('%s becomes %s', (text, expected, filled) => {
  expect(interpolate(text, env)).toEqual({ text: expected, filled, bad: [] })
})

test.each(['${B}', '${}', '${A', '${a-b}', '${A:x}', '${1A}', '${ A }', '${constructor}'])(
  '%s is refused',
  (text) => {
    const { bad } = interpolate(`<${text}`, env)
    expect(bad.map(({ reference }) => reference)).toEqual([text])
  },
)
