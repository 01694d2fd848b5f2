// Files as tools export them, each with `init` alone: what it proposes, that it passes `check`, and that its plan has no row that it
// did not announce.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { project } from './init-scene.ts'

const read = (name: string) =>
  readFileSync(fileURLToPath(new URL(`foreign/${name}`, import.meta.url)))

interface Expected {
  readonly type?: string
  readonly key: string
  /** What `from` has besides the path. */
  readonly from?: string
  /** The properties that are mapped, without `svc_`. */
  readonly mapped: string
  /** Settings that are not a column alone, by property. */
  readonly settings?: Readonly<Record<string, object>>
  /** Properties that wait for a person. */
  readonly open?: string
  /** Rows that are set aside, because no setting could read them. */
  readonly invalid?: number
}

const cases: [string, Expected][] = [
  [
    'hubspot-crm-exports-all-contacts-2024-03-01.csv',
    {
      key: 'external_id=Record ID',
      mapped: 'external_id first_name last_name email phone lifecycle_stage website',
      open: 'last_contacted_at',
    },
  ],
  [
    'report1709290000000.csv',
    {
      key: 'external_id=Contact ID',
      from: ', encoding: windows-1252, footer: 5',
      mapped: 'external_id first_name last_name job_title email phone birthday',
      settings: { birthday: { format: 'M/D/YYYY' } },
      open: 'source',
    },
  ],
  [
    'kundenliste_umsatz.csv',
    {
      type: 'company',
      key: 'external_id=Kundennummer',
      from: ', delimiter: ";", encoding: windows-1252',
      mapped: 'external_id name annual_revenue founded_on notes',
      settings: {
        annual_revenue: { decimal: ',', thousands: '.', symbol: '€', unit: 'EUR' },
        founded_on: { format: 'DD.MM.YYYY' },
      },
    },
  ],
  [
    'contacts.csv',
    {
      key: 'email=E-mail 1 - Value',
      mapped: 'email first_name last_name birthday notes phone website',
      settings: { phone: { split: ' ::: ' } },
    },
  ],
  [
    'subscribed_members_export_8f3c1d.csv',
    {
      key: 'email=Email Address',
      mapped: 'email first_name last_name score',
      open: 'phone notes',
    },
  ],
  ['unified_customers.csv', { key: 'external_id=id', mapped: 'external_id email', open: 'notes' }],
  [
    'customers_export.csv',
    {
      key: 'external_id=Customer ID',
      mapped: 'external_id first_name last_name email subscribed phone notes tags',
      settings: {
        external_id: { pattern: "^'(?<v>[+=@-].*|[\\d.,]+)$" },
        phone: { pattern: "^'(?<v>[+=@-].*|[\\d.,]+)$" },
        tags: { split: ',' },
      },
      open: 'lifetime_value',
    },
  ],
  [
    'people-1234567-89.csv',
    {
      key: 'external_id=Person - ID',
      mapped: 'external_id first_name last_name email phone subscribed',
      settings: { subscribed: { true: ['subscribed'], false: ['unsubscribed'] } },
    },
  ],
  [
    'outlook_contacts.csv',
    {
      key: 'email=E-mail Address',
      from: ', encoding: windows-1252',
      mapped: 'email first_name last_name job_title phone notes private',
      open: 'tags',
    },
  ],
  [
    'users.csv',
    {
      key: 'external_id=id',
      from: ', nulls: ["\\\\N"]',
      mapped: 'external_id email first_name last_name phone',
    },
  ],
  [
    'companies.tsv',
    {
      type: 'company',
      key: 'external_id=company_id',
      from: ', delimiter: "\\t", quote: null',
      mapped: 'external_id name domain annual_revenue founded_on',
      settings: {
        domain: { type: 'domain' },
        annual_revenue: { thousands: ',', symbol: '$', unit: 'USD' },
        founded_on: { format: 'YYYY-MM-DD 00:00:00' },
      },
    },
  ],
  [
    'crm_dump.csv',
    {
      type: 'company',
      key: 'external_id=customer_no',
      from: ', quote: null',
      mapped: 'external_id name email notes',
    },
  ],
  [
    'Mappe1.txt',
    {
      key: 'external_id=Nr.',
      from: ', delimiter: "\\t"',
      mapped: 'external_id first_name last_name email phone birthday subscribed',
      settings: { birthday: { format: 'DD.MM.YYYY' }, subscribed: { true: ['x'] } },
    },
  ],
  [
    'old_system.csv',
    {
      key: 'external_id=Customer Number',
      mapped: 'external_id first_name last_name email',
      invalid: 2,
    },
  ],
]

interface Proposed {
  readonly property: string
  readonly column: string
  readonly settings: object
}

const bare = (list: readonly Proposed[]) =>
  list.map(({ property }) => property.replace(/^svc_/, '')).join(' ')

test.each(cases)('%s', async (name, expected) => {
  const { write, run, passes, text } = await project()
  const { code, out } = await run(write(name, read(name)), {}, true)
  expect({ code, out }).toMatchObject({ code: 0 })
  const found = JSON.parse(out[0]!) as {
    object_type: string
    matching_property: string
    properties: readonly Proposed[]
    open: readonly Proposed[]
    plan: object
  }
  const key = found.properties.find(({ property }) => property === found.matching_property)!
  expect({
    type: found.object_type.replace(/^svc_/, ''),
    key: `${bare([key])}=${key.column}`,
    from: /from: \{ csv: [^,}]*(.*?) \}/.exec(text())![1],
    mapped: bare(found.properties),
    open: bare(found.open),
    settings: Object.fromEntries(
      found.properties
        .filter(({ settings }) => Object.keys(settings).length > 0)
        .map(({ property, settings }) => [property.replace(/^svc_/, ''), settings]),
    ),
  }).toEqual({ type: 'contact', from: '', open: '', settings: {}, ...expected, invalid: undefined })
  const { invalid = 0 } = expected
  expect(found.plan).toMatchObject({
    rows_read: 8,
    rows: { pending: 8 - invalid, rejected: invalid },
  })
  await passes()
  // A line that waits is valid as it stands.
  write('records-sync.yaml', text().replaceAll(/^( +)# (svc_\w+: )/gm, '$1$2'))
  await passes()
})
