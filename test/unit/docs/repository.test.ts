// What people meet who come along: guides, forms and hosted workflows. They name commands and files that exist.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const read = (path: string) => readFileSync(`${root}${path}`, 'utf8')

const guides = ['CONTRIBUTING.md', 'AGENTS.md', 'SECURITY.md', 'README.md', 'test/README.md']
const workflows = readdirSync(`${root}.github/workflows`).map((name) => `.github/workflows/${name}`)
const { scripts, engines } = JSON.parse(read('package.json')) as {
  scripts: Record<string, string>
  engines: { node: string }
}

interface Step {
  readonly uses?: string
  readonly run?: string
}
interface Job {
  readonly needs?: string | readonly string[]
  readonly uses?: string
  readonly steps?: readonly Step[]
  readonly 'timeout-minutes'?: number
  readonly strategy?: { readonly matrix: { readonly node: readonly number[] } }
}
const jobsOf = (workflow: string) => (parse(read(workflow)) as { jobs: Record<string, Job> }).jobs

test('the scripts and files that guides and workflows name exist', () => {
  let named = 0
  const missing: string[] = []
  for (const file of [...guides, ...workflows]) {
    const text = read(file)
    for (const [, script] of text.matchAll(/npm (?:run )?(test(?::\w+)?|(?<=run )[\w:]+)/g)) {
      named += 1
      if (!Object.hasOwn(scripts, script!)) missing.push(`${file}: npm run ${script}`)
    }
    const paths = /(?<=[\s`])((?:test|src|config|\.ci|workflows)\/[\w/.-]*\w)/g
    for (const [, path] of text.matchAll(paths)) {
      named += 1
      if (!existsSync(`${root}${path}`)) missing.push(`${file}: ${path}`)
    }
  }
  expect(missing).toEqual([])
  expect(named).toBeGreaterThan(40)
})

test('every action is pinned by its major version, every job has an end and known needs', () => {
  let uses = 0
  for (const workflow of workflows) {
    const jobs = jobsOf(workflow)
    for (const [name, job] of Object.entries(jobs)) {
      for (const need of [job.needs ?? []].flat()) expect(Object.keys(jobs), name).toContain(need)
      if (job.uses !== undefined) {
        expect(existsSync(`${root}${job.uses}`), job.uses).toBe(true)
        continue
      }
      expect(job['timeout-minutes'], `${workflow}: ${name}`).toBeGreaterThan(0)
      for (const step of job.steps!) {
        if (step.uses === undefined) continue
        uses += 1
        expect(step.uses).toMatch(/^[\w-]+\/[\w-]+@v\d+$/)
      }
    }
  }
  expect(uses).toBeGreaterThan(8)
})

test('the tests run on the oldest Node that package.json allows, and on a newer one', () => {
  const { matrix } = jobsOf('.github/workflows/ci.yml')['test']!.strategy!
  const oldest = Number(/>=(\d+)/.exec(engines.node)![1])
  expect(matrix.node[0]).toBe(oldest)
  expect(matrix.node.length).toBeGreaterThan(1)
})

test('the forms of issues have what a form needs', () => {
  const folder = '.github/ISSUE_TEMPLATE'
  const forms = readdirSync(`${root}${folder}`).filter((name) => name !== 'config.yml')
  expect(forms.length).toBe(2)
  for (const form of forms) {
    const { name, description, body } = parse(read(`${folder}/${form}`)) as {
      name: unknown
      description: unknown
      body: readonly { type: string; id?: string; attributes: { label?: string; value?: string } }[]
    }
    expect([typeof name, typeof description]).toEqual(['string', 'string'])
    const ids = body.flatMap(({ id }) => id ?? [])
    expect(ids).toEqual([...new Set(ids)])
    for (const { type, id, attributes } of body)
      if (type === 'markdown') expect(attributes.value).toBeTypeOf('string')
      else expect([id, attributes.label].map((each) => typeof each)).toEqual(['string', 'string'])
  }
})

test('CHANGELOG.md has a section for each version, from the newest on, by kinds of changes', () => {
  const kinds = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security']
  const sections = read('CHANGELOG.md').split(/^## /m).slice(1)
  const [unreleased, ...released] = sections.map((section) => section.split('\n')[0]!)
  expect(unreleased).toBe('[Unreleased]')
  for (const title of released) expect(title).toMatch(/^\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}$/)
  const dates = released.map((title) => title.slice(-10))
  expect(dates).toEqual(dates.toSorted().toReversed())
  const { version } = JSON.parse(read('package.json')) as { version: string }
  expect(released.map((title) => title.split(' ')[0])).toContain(`[${version}]`)
  for (const section of sections) {
    const found = [...section.matchAll(/^### (.*)$/gm)].map((match) => match[1]!)
    expect(found).toEqual(kinds.filter((kind) => found.includes(kind)))
    // No entry stands before the first kind.
    expect(section.split(/^### /m)[0]).not.toMatch(/^- /m)
  }
  // The hosted workflow takes the notes of a release from the section of its version.
  expect(read('.github/workflows/release.yml')).toContain('## [$version]')
})
