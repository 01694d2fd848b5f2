// What the benchmarks of imports share: a file of contacts, narrow or wide, and a service in a process of its own.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { ImportSync } from '../../config/index.ts'

export const main = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url))

/** With them Node gives a part of a worker, alone in a process, the heap that a worker has. */
export const WORKER_FLAGS = ['--import', new URL('./bounded.mjs', import.meta.url).href]

/** Ten columns by property. */
export const COLUMNS = {
  svc_external_id: 'id',
  svc_first_name: 'first_name',
  svc_last_name: 'last_name',
  svc_job_title: 'job_title',
  svc_email: 'email',
  svc_website: 'website',
  svc_birthday: 'born',
  svc_score: 'score',
  svc_last_contacted_at: 'contacted',
  svc_notes: 'notes',
} as const

/** Nineteen, three of them lists and one an amount; the last three are not of the system's. */
const WIDE_COLUMNS = {
  ...COLUMNS,
  svc_phone: 'phone',
  svc_lifecycle_stage: 'stage',
  svc_tags: 'tags',
  svc_lifetime_value: 'value',
  svc_subscribed: 'subscribed',
  svc_source: 'source',
  city: 'city',
  country: 'country',
  employees: 'employees',
} as const

/** The schema file of a service that takes the wide file. */
export const WIDE_SCHEMA = {
  properties: {
    svc_contact: [
      { name: 'city', field_type: 'text' },
      { name: 'country', field_type: 'text' },
      { name: 'employees', field_type: 'number' },
    ],
  },
}

/** How the columns of a file are mapped. */
const mappingOf = (wide: boolean): ImportSync['import']['properties'] => {
  const columns = Object.entries(wide ? WIDE_COLUMNS : COLUMNS)
  const mapped = columns.map(([property, column]) => [property, { column }] as const)
  if (!wide) return Object.fromEntries(mapped)
  return {
    ...Object.fromEntries(mapped),
    svc_email: { column: 'email', split: ';' },
    svc_phone: { column: 'phone', split: ';' },
    svc_tags: { column: 'tags', split: ';' },
    svc_lifetime_value: { column: 'value', unit: 'EUR' },
  }
}

const STAGES = ['subscriber', 'lead', 'opportunity', 'customer', 'former']

/** Writes contacts; `version` is in every row. */
export async function writeCsv(
  path: string,
  rows: number,
  version: string,
  { wide = false }: { readonly wide?: boolean } = {},
): Promise<void> {
  const out = createWriteStream(path)
  out.write(`${Object.values(wide ? WIDE_COLUMNS : COLUMNS).join(',')}\n`)
  for (let index = 1; index <= rows; index++) {
    const id = String(index).padStart(8, '0')
    const day = String((index % 28) + 1).padStart(2, '0')
    const email = `person${index}@example.com`
    const emails = wide ? `${email};p${index}@example.org` : email
    const narrow = `K-${id},First ${index},Last ${version},Engineer,${emails},https://example.com/${index},1980-01-${day},${index % 100},2026-01-${day}T08:00:00Z,"A note, about row ${index}"`
    const rest = `+49 30 ${index};+49 40 ${index},${STAGES[index % 5]},customer;vip;event,${index % 9_999}.${10 + (index % 90)},${index % 2 === 0},fair,Köln,Deutschland,${index % 500}`
    if (!out.write(wide ? `${narrow},${rest}\n` : `${narrow}\n`)) await once(out, 'drain')
  }
  out.end()
  await once(out, 'finish')
}

export interface Service {
  url: string
  key: string
  child: ChildProcess
}

export async function startServiceProcess(
  latencyMs: number,
  options: readonly string[] = [],
): Promise<Service> {
  const child = spawn(
    process.execPath,
    [main, '--json', 'service', '--port', '0', '--latency', String(latencyMs), ...options],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const [chunk] = (await once(child.stdout!, 'data')) as [Buffer]
  return { ...(JSON.parse(chunk.toString()) as { url: string; key: string }), child }
}

/** The import of a file of contacts, as a configuration has it. */
export const contactsImport = (csv: string, wide: boolean) =>
  ({
    name: 'contacts',
    kind: 'import',
    import: {
      from: { csv },
      to: 'crm',
      object_type: 'svc_contact',
      matching_property: 'svc_external_id',
      mode: 'upsert',
      empty: 'omit',
      verify: 'none',
      properties: mappingOf(wide),
    },
  }) as const
