import { expect, test } from 'vitest'
import { readDocument } from '../../../config/document.ts'
import { issuesOf } from './project.ts'

const bomb = ['a: &a [x,x,x,x,x,x,x,x,x,x]']
for (let index = 1; index < 9; index++) {
  const [name, before] = ['abcdefghi'[index]!, 'abcdefghi'[index - 1]!]
  bomb.push(`${name}: &${name} [${Array.from({ length: 10 }, () => `*${before}`).join(',')}]`)
}

const shape = 'expected a mapping with `connections` and `syncs`; the file'

test.each<[string, string, string]>([
  ['nothing', '', `1:1: ${shape} is empty`],
  ['only comments', '# soon\n', `1:1: ${shape} is empty`],
  ['a list', '\n- a\n', `2:1: ${shape} holds something else`],
  ['a text', 'hello', `1:1: ${shape} holds something else`],
  [
    'two documents',
    'a: 1\n---\nb: 2\n',
    '2:1: the file holds several documents; keep one, without `---` inside',
  ],
  ['a tag', 'a: !!str x', '1:10: tags such as `!!str` are not supported; remove it'],
  ['a tag of ours', 'a: !secret x', '1:4: tags such as `!secret` are not supported; remove it'],
  ['a tag on a key', '!!str a: x', '1:7: expected a plain text as the key'],
  [
    'a directive',
    '%YAML 1.1\n---\na: yes\n',
    '1:1: directives such as `%YAML` are not supported; remove it',
  ],
  ['a key that is a list', '? [a]\n: b\n', '1:3: expected a plain text as the key'],
  [
    'a key with a meaning of its own',
    '__proto__: { a: 1 }',
    '1:1: expected a plain text as the key',
  ],
  ['an unknown alias', 'a: *b', '1:4: this alias names no anchor above it'],
  ['tabs', 'a:\n\tb: 1\n', '2:1: a tab indents this line; use spaces'],
  [
    'an open quote',
    'a: "sk_x',
    '1:9: a character is missing here: a closing quote, bracket, comma, colon or space',
  ],
  [
    'a bare variable in braces',
    'a: { b: ${KEY} }',
    '1:10: this cannot stand here; inside `{ }` put a variable in quotes: `"${NAME}"`',
  ],
  [
    'two keys in a line',
    'a: b: sk_x',
    '1:4: two keys on one line; put the value in quotes, or on lines of its own',
  ],
])('refuses %s', async (_, text, expected) => {
  const issues = await issuesOf(text)
  expect(issues).toContain(expected)
  expect(issues.join()).not.toContain('sk_')
})

const after = 'c: 1\nd: { e: 2 }\nf: g\n'

test.each([
  ['a bare variable in braces', 'a: { b: ${KEY} }\n'],
  ['a brace too many', 'a: { b: 1 }}\n'],
  ['a brace that is not closed', 'a:\n  b: { x: 1\n  c: 2\n  d: 3\n'],
  ['a bracket that is not closed', 'a:\n  b: [1\n  c: 2\n  d: 3\n'],
  ['a tab', 'a:\n\tb: 1\n  c: 2\n  d: 3\n'],
])('%s is one issue, not one of each line after it', async (_, slip) => {
  expect(await issuesOf(slip + after)).toHaveLength(1)
})

test('each tag has an issue of its own', async () => {
  const issues = await issuesOf('a: !x 1\nb: !y 2\n')
  expect(issues.map((issue) => issue.split(':')[0])).toEqual(['1', '2'])
})

test('an alias bomb is refused before it is expanded', () => {
  const { issues } = readDocument(bomb.join('\n'), {})
  expect(issues.map((issue) => issue.message)).toEqual([
    'too large: more than 100000 values, 1000 aliases or 40 levels',
  ])
})

test('an alias of what it stands in is refused', () => {
  expect(readDocument('a: &a [*a]', {}).issues).toHaveLength(1)
})

test.each(['[', '- ', '{a: ', '? ', '&a [', 'a:\n'])(
  'a million levels of "%s" are refused',
  (piece) => {
    const count = Math.floor(1_000_000 / piece.length)
    const text =
      piece === 'a:\n'
        ? Array.from({ length: 1_000 }, (_, level) => `${' '.repeat(level)}a:`).join('\n')
        : piece.repeat(count)
    const [issue] = readDocument(text, {}).issues
    expect(issue!.message).toBe('nested more than 40 levels deep')
  },
)
