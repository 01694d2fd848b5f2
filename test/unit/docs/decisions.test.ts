// The decisions: one file each, with the same headings, listed by theme. What they and the pages for maintainers name exists.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const read = (path: string) => readFileSync(`${root}${path}`, 'utf8')

const folder = 'docs/decisions'
const names = readdirSync(`${root}${folder}`)
  .filter((name) => name !== 'README.md')
  .toSorted()
const numberOf = (name: string) => Number(name.slice(0, 4))
const index = read(`${folder}/README.md`)

test('their numbers are contiguous, and each has its own', () => {
  expect(names.length).toBeGreaterThan(80)
  expect(names.filter((name) => !/^\d{4}-[a-z0-9-]+\.md$/.test(name))).toEqual([])
  expect(names.map(numberOf)).toEqual(names.map((_, index) => index + 1))
})

test('each has a title, a date, a status and the headings', () => {
  for (const name of names) {
    const text = read(`${folder}/${name}`)
    expect(text, name).toMatch(new RegExp(String.raw`^# ${numberOf(name)}\. \S`))
    expect(text, name).toMatch(/^- Date: \d{4}-\d{2}-\d{2}$/m)
    expect(text, name).toMatch(
      /^- Status: (accepted(, amended by \[decision \d+\]\(\S+\))*|superseded by \[decision \d+\]\(\S+\))$/m,
    )
    const sections = text.split(/^## /m).slice(1)
    expect(
      sections.map((section) => section.split('\n')[0]),
      name,
    ).toEqual(['Context', 'Decision', 'Cost', 'What would reverse it'])
    const empty = sections.filter((section) => section.split('\n').slice(1).join('').trim() === '')
    expect(empty, name).toEqual([])
  }
})

test('each is listed under a theme, with its title', () => {
  for (const name of names) {
    const title = /^# \d+\. (.*)$/m.exec(read(`${folder}/${name}`))![1]!
    const line = `- [${numberOf(name)}](${name}) ${title}`
    const lines = index.split('\n').filter((each) => each.startsWith(`- [${numberOf(name)}](`))
    expect(new Set(lines), `the list in ${folder}/README.md`).toEqual(new Set([line]))
  }
})

test('the index lists nothing else', () => {
  const listed = [...index.matchAll(/^- \[\d+\]\((.*?)\)/gm)].map((match) => match[1]!)
  expect([...new Set(listed)].toSorted()).toEqual(names)
})

test('source files that the pages for maintainers name exist', () => {
  const pages = ['src/README.md', ...names.map((name) => `${folder}/${name}`)]
  let named = 0
  const missing: string[] = []
  for (const page of pages)
    for (const [, path] of read(page).matchAll(/`((?:[\w*-]+\/)+[\w*.-]+\.(?:ts|md|json))`/g)) {
      named += 1
      // `ledger/*/left.ts`: of each driver.
      const all = ['sqlite', 'postgres'].map((driver) => path!.replace('*', driver))
      const isThere = (each: string) =>
        ['', 'src/', 'test/'].some((above) => existsSync(`${root}${above}${each}`))
      if (!all.every(isThere)) missing.push(`${page}: ${path}`)
    }
  expect(missing).toEqual([])
  expect(named).toBeGreaterThan(60)
})
