// Links of an import, and a sync that only links: what they are as they are loaded. The messages about wrong ones are in
// test/golden/configuration.

import { expect, test } from 'vitest'
import { importOf, issuesOf, load } from './project.ts'

const head = `connections:
  crm: { service: https://crm.example, key: { env: KEY } }
syncs:
`
const contacts = (links: string) => `${head}  contacts:
    import:
      from: { csv: rows.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      properties: { svc_external_id: id }
      links:
${links}
`

test('links of an import: what is left out has its default', async () => {
  const config = await load(
    contacts(`        - { association: contact_company, to: svc_company, by: svc_domain, column: company, split: ";" }
        - { association: contact_deal, to: svc_deal, column: deal_id, missing: reject }`),
  )
  expect(importOf(config, 'contacts').links).toEqual([
    {
      association: 'contact_company',
      to: 'svc_company',
      by: 'svc_domain',
      column: 'company',
      split: ';',
      missing: 'park',
    },
    { association: 'contact_deal', to: 'svc_deal', column: 'deal_id', missing: 'reject' },
  ])
})

test('two columns of one association', async () => {
  const of = (column: string) =>
    `        - { association: contact_company, to: svc_company, by: svc_domain, column: ${column} }`
  const config = await load(contacts([of('company'), of('former_company')].join('\n')))
  expect(importOf(config, 'contacts').links?.map(({ column }) => column)).toEqual([
    'company',
    'former_company',
  ])
})

test('a sync that only links is an import that writes no record', async () => {
  const config = await load(`${head}  contact_companies:
    link:
      from: { csv: links.csv }
      to: crm
      association: contact_company
      source: { object_type: svc_contact, by: svc_external_id, column: contact_id }
      target: { object_type: svc_company, by: svc_domain, column: domain, split: ";" }
    schedule: every day
`)
  expect(config.syncs['contact_companies']).toMatchObject({
    kind: 'import',
    schedule: { every_ms: 86_400_000 },
  })
  expect(importOf(config, 'contact_companies')).toMatchObject({
    to: 'crm',
    object_type: 'svc_contact',
    matching_property: 'svc_external_id',
    mode: 'link',
    properties: { svc_external_id: { column: 'contact_id' } },
    links: [
      {
        association: 'contact_company',
        to: 'svc_company',
        by: 'svc_domain',
        column: 'domain',
        split: ';',
        missing: 'park',
      },
    ],
  })
})

test('what is wrong has its line, what was expected, and what is valid', async () => {
  const wrong =
    '        - { association: contact_company, too: svc_company, column: c, missing: wait }'
  expect(await issuesOf(contacts(wrong))).toEqual([
    '12:11: missing key `to` in `syncs.contacts.import.links.0`',
    '12:43: unknown key `too`; did you mean `to`?',
    '12:81: `syncs.contacts.import.links.0.missing` is `wait`; expected one of `park`, `reject`, `skip`',
  ])
  expect(await issuesOf(contacts('').replace(/\n +links:\n/, '\n      links: []\n'))).toEqual([
    '11:14: `syncs.contacts.import.links` is a list; expected at least one link',
  ])
})
