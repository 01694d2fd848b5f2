// The records of a connection as the source of an import: what the configuration takes, and what it says of the rest.

import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { importOf, issuesOf, load } from './project.ts'

const project = (from: string) => `
connections:
  crm: { service: https://api.example.com, key: "\${KEY}" }
  copy: { service: https://api.example.com, key: "\${OTHER}" }
syncs:
  copy_contacts:
    import:
      from: ${from}
      to: copy
      object_type: svc_contact
      matching_property: svc_external_id
      properties: { svc_external_id: svc_external_id }
`
const at = '`syncs.copy_contacts.import.from'
const records = (filter: string) =>
  `{ records: { connection: crm, object_type: svc_contact, filter: ${filter} } }`

test('everything that can be said', async () => {
  const filter =
    '{ $and: [{ property: svc_score, op: gte, value: 10 }, { $or: [{ property: x, op: is_null, value: true }] }] }'
  const config = await load(
    project(
      `{ records: { connection: crm, object_type: svc_lead, filter: ${filter}, properties: [svc_external_id] } }`,
    ),
  )
  expect(importOf(config, 'copy_contacts').from).toEqual({
    records: {
      connection: 'crm',
      object_type: 'svc_lead',
      filter: {
        $and: [
          { property: 'svc_score', op: 'gte', value: 10 },
          { $or: [{ property: 'x', op: 'is_null', value: true }] },
        ],
      },
      properties: ['svc_external_id'],
    },
  })
})

test('the least that can be said, with source and destination in one connection', async () => {
  const config = await load(project('{ records: { connection: copy, object_type: svc_contact } }'))
  expect(importOf(config, 'copy_contacts').from).toEqual({
    records: { connection: 'copy', object_type: 'svc_contact' },
  })
})

test.each([
  [
    'a connection that there is not',
    '{ records: { connection: crn, object_type: svc_contact } }',
    `8:38: no connection \`crn\`; valid: \`crm\`, \`copy\`; did you mean \`crm\`?`,
  ],
  [
    'a missing object type',
    '{ records: { connection: crm } }',
    `8:15: missing key \`object_type\` in ${at}.records\``,
  ],
  [
    'an unknown setting',
    '{ records: { connection: crm, object_type: svc_contact, filters: 1 } }',
    '8:69: unknown key `filters`; did you mean `filter`?',
  ],
  [
    'no properties',
    '{ records: { connection: crm, object_type: svc_contact, properties: [] } }',
    `8:81: ${at}.records.properties\` is a list; expected at least one name`,
  ],
  [
    'a setting of another kind',
    '{ records: { connection: crm, object_type: svc_contact }, delimiter: ";" }',
    '8:71: `delimiter` belongs to `csv`; remove it',
  ],
  [
    'the name of a type in place of the mapping',
    '{ records: svc_contact }',
    `8:24: ${at}.records\` is \`svc_contact\`; expected a mapping`,
  ],
])('%s is named with its place', async (_, from, issue) => {
  expect(await issuesOf(project(from))).toEqual([issue])
})

test.each([
  ['score > 10', /filter` is `score > 10`; expected a mapping$/],
  ['{ property: svc_score, op: above, value: 1 }', /filter\.op` is `above`; expected one of `eq`/],
  ['{ property: svc_score, op: gt }', /^\d+:\d+: missing key `value` in `[^`]+filter`$/],
  ['{ property: svc_score, operator: gt, value: 1 }', /missing key `op` in/],
  [
    '{ property: svc_score, operator: gt, value: 1 }',
    /unknown key `operator`; valid keys: `property`, `op`, `value`$/,
  ],
  ['{ $and: [] }', /filter\.\$and` is a list; expected a list of at least 1$/],
  ['{ $or: { property: a, op: eq, value: 1 } }', /filter\.\$or` is a mapping; expected a list/],
  [
    '{ $and: [{ property: 5, op: eq, value: 1 }] }',
    /filter\.\$and\.0\.property` is `5`; expected a text/,
  ],
  [
    '{ $and: [{ property: a, op: eq, value: 1, note: x }] }',
    /unknown key `note`; valid keys: `property`, `op`, `value`/,
  ],
  ['{ $or: [{ $and: [{ property: a, op: like, value: 1 }] }] }', /op` is `like`; expected one of/],
])('a filter that is none, %s, is told by what was meant', async (filter, message) => {
  const issues = await issuesOf(project(records(filter)))
  expect(issues.join('\n')).toMatch(new RegExp(message.source, 'm'))
  expect(issues.length).toBeLessThanOrEqual(2)
  expect(issues.join('\n')).not.toContain(filter.includes('$and') ? '$or`' : '$and`')
})

test('the example of docs/records.md loads', async () => {
  const page = await readFile(new URL('../../../docs/records.md', import.meta.url), 'utf8')
  const config = await load(/```yaml\n([^]*?)```/.exec(page)![1]!)
  expect(importOf(config, 'contacts_to_sandbox')).toMatchObject({
    from: { records: { connection: 'crm', object_type: 'svc_contact' } },
    to: 'sandbox',
  })
})
