// Code, tests and documents cite sections of the specification and of the design. Each section that they name exists.

import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const read = (path: string) => readFileSync(`${root}${path}`, 'utf8')

const filesOf = (folder: string): string[] =>
  readdirSync(`${root}${folder}`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|mjs|md|json|ya?ml)$/.test(entry.name))
    .map((entry) => `${entry.parentPath.slice(root.length)}/${entry.name}`.replaceAll('//', '/'))

/** Recorded histories and bundles of others cite nothing of ours. */
const foreign = /^(test\/replay\/.*\.json|test\/fixtures\/|docs\/specification\/|CHANGELOG\.md)/
const SELF = 'test/unit/docs/references.test.ts'
const files = [
  ...['src', 'workflows', 'activities', 'config', 'test', 'docs'].flatMap(filesOf),
  'README.md',
].filter((file) => !foreign.test(file) && file !== SELF)

/**
 * The numbers that a document gives a target to: `3` and `4.3` of headings, and of each numbered list item the heading's number
 * with the item's: `4.3.6`, and `5.4` where section 5 is a list.
 */
function targetsOf(document: string): Set<string> {
  const targets = new Set<string>()
  let section = ''
  for (const line of document.split('\n')) {
    const heading = /^#{2,3} (\d+(?:\.\d+)*)[. ]/.exec(line)
    if (heading) targets.add((section = heading[1]!))
    else if (/^#{1,3} /.test(line)) section = ''
    const item = /^(\d+)\. /.exec(line)
    if (item && section !== '') targets.add(`${section}.${item[1]}`)
  }
  return targets
}

interface Reference {
  readonly of: 'design' | 'specification' | 'decision'
  readonly number: string
}

/** `sections 2.5, 2.6 and 4.3 rule 6`, `design section 6`, `rule 4.3.6`, `decisions 24 and 19`. */
function referencesOf(text: string): Reference[] {
  // A comment, or an emphasised word, may break between a word and its number.
  const flat = text.replaceAll(/\s*\n\s*(?:\/\/|\*|#)?\s*/g, ' ')
  const number = String.raw`\d+(?:\.\d+)*`
  const list = String.raw`${number}(?:(?:,? and |,? or |, |,| to )${number})*`
  const found: Reference[] = []
  const pattern = new RegExp(
    String.raw`(RFC \d+,? )?\b(design )?(sections?|rules?|decisions?) (${list})(?: rules? (\d+))?`,
    'gi',
  )
  for (const [, rfc, design, word, numbers, rule] of flat.matchAll(pattern)) {
    if (rfc !== undefined) continue
    const all = [...numbers!.matchAll(new RegExp(number, 'g'))].map(([each]) => each)
    const isDecision = /^decision/i.test(word!)
    // `rule 5` alone means a rule of the section named before.
    const isRule = /^rule/i.test(word!)
    const of = isDecision ? 'decision' : design === undefined ? 'specification' : 'design'
    for (const each of all) {
      if (isRule && !each.includes('.')) continue
      found.push({ of, number: each })
    }
    if (rule !== undefined) found.push({ of, number: `${all.at(-1)}.${rule}` })
  }
  return found
}

const targets = {
  specification: targetsOf(read('docs/specification/records-service-api-v1.md')),
  design: targetsOf(read('docs/architecture/design.md')),
  decision: new Set(
    readdirSync(`${root}docs/decisions`).map((name) => String(Number.parseInt(name, 10))),
  ),
}

test('every cited section, rule and decision has a target', () => {
  const cited = { specification: 0, design: 0, decision: 0 }
  const missing: string[] = []
  for (const file of files)
    for (const { of, number } of referencesOf(read(file))) {
      cited[of] += 1
      if (!targets[of].has(number)) missing.push(`${file}: ${of} ${number}`)
    }
  expect(missing).toEqual([])
  expect(cited.specification).toBeGreaterThan(300)
  expect(cited.design).toBeGreaterThan(50)
  expect(cited.decision).toBeGreaterThan(20)
})

test('references are found in every form that they are written in', () => {
  const of = (text: string) => referencesOf(text).map((each) => `${each.of} ${each.number}`)
  expect(of('(sections 2.5, 2.6 and 4.3 rule 6)')).toEqual([
    'specification 2.5',
    'specification 2.6',
    'specification 4.3',
    'specification 4.3.6',
  ])
  expect(of('// (design sections 3 to\n// 5), rules 4.3.3 and 4.3.4')).toEqual([
    'design 3',
    'design 5',
    'specification 4.3.3',
    'specification 4.3.4',
  ])
  expect(of('Decision 91 says which; decisions 24 and 19')).toEqual([
    'decision 91',
    'decision 24',
    'decision 19',
  ])
  expect(of('RFC 9110 section 12.5.1, rule 5')).toEqual([])
  expect(targetsOf('## 5. A\n1. x\n### 5.9 B\n2. y')).toEqual(new Set(['5', '5.1', '5.9', '5.9.2']))
})

test('the walks of the architecture name files and functions that exist', () => {
  const page = read('docs/architecture/README.md')
  const steps = [...page.matchAll(/^\| \d+ \| `([^`]+)` \| (.*?) \|/gm)]
  expect(steps.length).toBeGreaterThan(30)
  for (const [, file, what] of steps) {
    const name = /`([^`]+)`/.exec(what!)![1]!
    expect(read(file!), `${file}: ${name}`).toMatch(new RegExp(String.raw`\b${name}\b`))
  }
})
