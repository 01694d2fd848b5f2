// The pages that people read are in plain trade English: words that need a second reading, and that the trade has another word
// for, are not in them.

import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** The word, and what to write instead. */
const INSTEAD: Readonly<Record<string, string>> = {
  told: 'reported, named, shown',
  whoever: 'a person who, a client that',
  somebody: 'a person, another program',
  anew: 'again',
  beside: 'next to, together with',
  besides: 'in addition, also',
}

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'AGENTS.md',
  'CHANGELOG.md',
  'config/README.md',
  'src/README.md',
  'src/service/README.md',
  'test/README.md',
  ...['docs', 'docs/decisions', 'docs/architecture'].flatMap((folder) =>
    readdirSync(`${root}${folder}`)
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  ),
]

/** Without blocks of code, code in a line, and targets of links: names are what they are. */
const prose = (text: string) =>
  text
    .replaceAll(/^```[\s\S]*?^```/gm, (block) => block.replaceAll(/[^\n]/g, ''))
    .replaceAll(/`[^`\n]+`/g, '')
    .replaceAll(/\]\([^)\n]*\)/g, ']')

test('pages are in plain trade English', () => {
  const found: string[] = []
  for (const page of pages)
    for (const [index, line] of prose(readFileSync(`${root}${page}`, 'utf8'))
      .split('\n')
      .entries())
      for (const [word] of line.matchAll(/\b(?:told|whoever|somebody|anew|besides?)\b/gi))
        found.push(`${page}:${index + 1}: "${word}"; write: ${INSTEAD[word.toLowerCase()]}`)
  expect(found).toEqual([])
  expect(pages.length).toBeGreaterThan(100)
})
