// The parameters of a query: found where they are, not where they only look so, and replaced by one literal each.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { queryParameters, bindParameters } from '../../../src/core/domain/query-parameters.ts'
import { runs } from '../../runs.ts'

const values = { watermark: 'W', from: 'F', to: null }
const written = (query: string) => bindParameters(query, values)

describe('the parameters of a query', () => {
  it.each([
    ['SELECT 1 WHERE a > :watermark', "SELECT 1 WHERE a > 'W'"],
    ['a>=:watermark AND(:from)', "a>='W' AND('F')"],
    [':from::date, :to ::timestamptz', "'F'::date, NULL ::timestamptz"],
    ['f(:from,:to)', "f('F',NULL)"],
    ['f(a := :from)', "f(a := 'F')"],
    ["{'a': :from}", "{'a': 'F'}"],
    [':from\n--:from\n:from /* :from */', "'F'\n--:from\n'F' /* :from */"],
    ["'it''s :from' :from", "'it''s :from' 'F'"],
    ["E'it\\'s :from' :from", "E'it\\'s :from' 'F'"],
    ["E'a''b\\'c :from' :from", "E'a''b\\'c :from' 'F'"],
    ["'a\\' :from", "'a\\' 'F'"],
    ["name'a\\' :from", "name'a\\' 'F'"],
    ['/* a /* b */ :from */ :from', "/* a /* b */ :from */ 'F'"],
    ['$$ :from $a$ $$ :from', "$$ :from $a$ $$ 'F'"],
    ['$a$ :from $$ $b$ $a$ :from', "$a$ :from $$ $b$ $a$ 'F'"],
    ['$1 :from $2', "$1 'F' $2"],
    ['a$b$ :from', "a$b$ 'F'"],
    ['" "" :from" :from', '" "" :from" \'F\''],
  ])('%j becomes %j', (query, expected) => {
    expect(written(query)).toBe(expected)
    expect(queryParameters(query).has('from')).toBe(expected.includes("'F'"))
  })

  it.each([
    'a::from',
    'a :: from',
    'list[1:to]',
    'list[a:to]',
    'list[f(1):to]',
    'list["a":to]',
    "{'a':watermark}",
    'map{1:from}',
    ':froma',
    ':from_',
    ':from$',
    ':fromé',
    ': from',
    ':FROM',
    ':other',
    "':from",
    '":from',
    '-- :from',
    '/* :from',
    '$$ :from',
    "E'\\' :from",
  ])('%j has none', (query) => {
    expect(queryParameters(query)).toEqual(new Set())
    expect(written(query)).toBe(query)
  })

  it('are found between whatever cannot hold them', () => {
    const inner = fc
      .array(
        fc.constantFrom(
          ':from',
          ':to',
          "'",
          '"',
          '$$',
          '$a$',
          '--',
          '/*',
          '*/',
          '\\',
          'a',
          ' ',
          '\n',
        ),
        { maxLength: 8 },
      )
      .map((parts) => parts.join(''))
    const opaque = fc.oneof(
      inner.map((text) => `'${text.replaceAll("'", "''")}'`),
      inner.map((text) => `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`),
      inner.map((text) => `e'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`),
      inner.map((text) => `"${text.replaceAll('"', '""')}"`),
      inner.map((text) => `$q$${text}$q$`),
      inner.map((text) => `--${text.replaceAll('\n', '')}\n`),
      inner.map((text) => `/*${text.replaceAll(/\/\*|\*\/|[*/]/g, '')}*/`),
      inner.map((text) => `/*/*${text.replaceAll(/\/\*|\*\/|[*/]/g, '')}*/:from*/`),
      fc.constantFrom('SELECT', 'a::to', '$1', 'x[1:to]', ',', '(', '5', '=', '-', '/', '*'),
    )
    const piece = fc.oneof(
      opaque.map((text) => ({ text, value: text })),
      fc.constantFrom(
        { text: ':watermark', value: "'W'" },
        { text: ':from', value: "'F'" },
        { text: ':to', value: 'NULL' },
      ),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const query = pieces.map(({ text }) => text).join(' ')
        expect(written(query)).toBe(pieces.map(({ value }) => value).join(' '))
      }),
      { numRuns: runs(2_000) },
    )
  })

  it('become one literal each, whatever a value holds', () => {
    const text = fc.oneof(
      fc.string(),
      fc.array(fc.constantFrom("'", '\\', ':to', '$')).map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(text, (value) => {
        const query = bindParameters('SELECT :watermark, :to', {
          watermark: value,
          from: null,
          to: 'end',
        })
        const held = /^SELECT (E?)'((?:[^']|'')*)', 'end'$/.exec(query)!
        const unquoted = held[2]!.replaceAll("''", "'")
        expect(held[1] === 'E' ? unquoted.replaceAll('\\\\', '\\') : unquoted).toBe(value)
        // In a text with escapes each backslash is escaped.
        if (held[1] === '') expect(value).not.toContain('\\')
        else expect(unquoted.replaceAll('\\\\', '')).not.toContain('\\')
      }),
    )
  })

  it('of a query of a million characters are found at once', () => {
    const long = `SELECT ${"E'a''' ".repeat(50_000)} ${'/* '.repeat(50_000)}${'*/ '.repeat(50_000)} :from`
    expect(written(long).endsWith(" 'F'")).toBe(true)
    expect(queryParameters(`'${'x'.repeat(1_000_000)}`)).toEqual(new Set())
    expect(queryParameters(`E'${'x'.repeat(1_000_000)}`)).toEqual(new Set())
    expect(queryParameters('$'.repeat(100_001))).toEqual(new Set())
  })
})
