// `after` and `groups`: what loads, and what is complained about, at which line.

import { expect, test } from 'vitest'
import { GROUP_SYNCS_MAX } from '../../../src/core/domain/sync-order.ts'
import { groupPlanOf } from '../../../src/runs/group-plan.ts'
import { issuesOf, load } from './project.ts'

const sync = (name: string, after?: string) => `  ${name}:
    import:
      from: { csv: ./${name}.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      properties: { svc_external_id: id }
${after === undefined ? '' : `    after: ${after}\n`}`
const HEAD = `connections:
  crm: { service: https://api.example.com, key: "\${RECORDS_API_KEY}" }
syncs:
`
const config = (syncs: Record<string, string | undefined>, rest = '') =>
  HEAD +
  Object.entries(syncs)
    .map(([name, after]) => sync(name, after))
    .join('') +
  rest

test('an order and groups load; `all` is every sync', async () => {
  const { syncs, groups } = await load(
    config(
      { companies: undefined, contacts: '[companies]', deals: '[contacts]', notes: '[]' },
      `groups:
  nightly: { syncs: all, schedule: every 1 day }
  people: { syncs: [contacts, companies] }
`,
    ),
  )
  expect(syncs['contacts']!.after).toEqual(['companies'])
  expect(syncs['notes']).not.toHaveProperty('after')
  expect(groups['people']).toEqual({ name: 'people', syncs: ['contacts', 'companies'] })
  expect(groups['nightly']).toMatchObject({
    syncs: ['companies', 'contacts', 'deals', 'notes'],
    schedule: { every_ms: 86_400_000 },
  })
  expect(groupPlanOf({ syncs, groups }, { group: 'people' })).toEqual({
    members: [
      { sync: 'companies', kind: 'import', after: [] },
      { sync: 'contacts', kind: 'import', after: ['companies'] },
    ],
    ignored: [],
  })
  expect(groupPlanOf({ syncs, groups }, { syncs: ['deals', 'companies'] })).toMatchObject({
    members: [{ sync: 'companies' }, { sync: 'deals', after: ['companies'] }],
    ignored: [{ sync: 'deals', after: ['contacts'] }],
  })
  expect(groupPlanOf({ syncs, groups }, { group: 'nightli' })).toEqual({
    problem: 'there is no group "nightli"; there is: nightly, people; did you mean nightly?',
  })
  expect(groupPlanOf({ syncs, groups }, { syncs: ['contact'] })).toEqual({
    problem:
      'there is no sync "contact"; there is: companies, contacts, deals, notes; did you mean contacts?',
  })
})

test('a configuration without groups has none', async () => {
  expect((await load(config({ contacts: undefined }))).groups).toEqual({})
})

test.each([
  [
    { contacts: '[compnies]', companies: undefined },
    '11:13: no sync `compnies`; valid: `contacts`, `companies`; did you mean `companies`?',
  ],
  [
    { contacts: '[contacts]' },
    '11:13: `contacts` cannot run after itself (contacts → contacts); remove it',
  ],
  [
    { a: '[b]', b: '[c]', c: '[a]' },
    '11:13: a circle: a → b → c → a, of which each runs after the next; remove one of these from `after`',
  ],
  [
    { contacts: 'companies', companies: undefined },
    '11:12: `syncs.contacts.after` is `companies`; expected a list',
  ],
  [
    { contacts: '[companies, companies]', companies: undefined },
    '11:12: `syncs.contacts.after` is a list; expected each name once',
  ],
])('the order %j is refused', async (syncs: Record<string, string | undefined>, issue) => {
  expect(await issuesOf(config(syncs))).toEqual([issue])
})

test('each of several circles is reported', async () => {
  expect(await issuesOf(config({ a: '[b]', b: '[a]', c: '[d]', d: '[c]' }))).toEqual([
    expect.stringContaining('a circle: a → b → a'),
    expect.stringContaining('a circle: c → d → c'),
  ])
})

test.each([
  [
    '  contacts: { syncs: all }',
    /^12:3: `contacts` is a sync, and `run contacts` would mean both; give the group another name$/,
  ],
  ['  nightly: {}', /^12:\d+: missing key `syncs` in `groups.nightly`$/],
  ['  nightly: { syncs: [] }', /^12:21: expected `all`, or at least one sync; valid: `contacts`$/],
  ['  nightly: { syncs: contacts }', /is `contacts`; expected `all` or a list$/],
  [
    '  nightly: { syncs: [contcts] }',
    /^12:22: no sync `contcts`; valid: `contacts`; did you mean `contacts`\?$/,
  ],
  ['  nightly: { syncs: [contacts, contacts] }', /expected each name once$/],
  [
    '  nightly: { syncs: all, schedul: every 1 day }',
    /unknown key `schedul`; did you mean `schedule`\?$/,
  ],
  ['  nightly: { syncs: all, schedule: hourly }', /is `hourly`; expected `every 15 minutes`/],
  [
    '  nightly: { syncs: all, schedule: { every: 1 hour, time_zone: UTC } }',
    /`every` knows no time zone; remove it/,
  ],
  ['  Nightly: { syncs: all }', /expected a name of a-z, 0-9 and _/],
])('the group %s is refused', async (group, expected) => {
  expect(await issuesOf(config({ contacts: undefined }, `groups:\n${group}\n`))).toEqual([
    expect.stringMatching(expected),
  ])
})

test('a group has a bound', async () => {
  const names = Array.from({ length: GROUP_SYNCS_MAX + 1 }, (_, index) => [`s${index}`, undefined])
  const [issue, ...others] = await issuesOf(
    config(Object.fromEntries(names), 'groups:\n  nightly: { syncs: all }\n'),
  )
  expect(others).toEqual([])
  expect(issue).toContain('these are 501 syncs, and a group has at most 500')
})
