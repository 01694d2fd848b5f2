// Contacts as rows of a file, their mapping, and what the service has to hold of them: worked out here, not by the product.

import type { PropertyMapping } from '../../config/index.ts'
import { compareDecimals, decimal } from './decimal.ts'
import type { Naming } from './habits.ts'
import type { OtherService } from './index.ts'
import { isNumber, isObject, textOf } from './json.ts'
import type { Json } from './json.ts'
import { instant } from './kinds.ts'
import { isSame } from './store.ts'
import type { Rec } from './store.ts'

export const COLUMNS = [
  'id',
  'first',
  'mail',
  'score',
  'visits',
  'subscribed',
  'birth',
  'seen',
  'revenue',
  'stage',
  'home',
  'tags',
] as const

export type Row = Readonly<Record<(typeof COLUMNS)[number], string>>

const NAMES = ['Ada', 'Grace', 'Zoë', 'O"Hara', 'two\nlines', 'ends ', '名前', 'a,b;c', "l'Hôpital"]

/** Row `n`, in its version: each version differs from the one before it. */
export function rowOf(n: number, version = 1): Row {
  const two = (value: number) => String(value).padStart(2, '0')
  return {
    id: `k-${n}`,
    first: `${NAMES[n % NAMES.length]} ${version}`,
    mail: `Person${n}@Example.org`,
    score: `${n % 1000}.${two(n % 100)}${version % 10}`,
    visits: String(n * 7 + version),
    subscribed: (n + version) % 2 === 0 ? 'true' : 'false',
    birth: `19${two(n % 90)}-${two((n % 12) + 1)}-${two(((n + version) % 28) + 1)}`,
    seen: `2024-${two((n % 12) + 1)}-01T${two(n % 24)}:00:${two(version % 60)}Z`,
    revenue: `${n}.${two((n * 3) % 100)}`,
    stage: ['new', 'open', 'won', 'lost'][(n + version) % 4]!,
    home: `https://Example.org/p/${n}?v=${version}`,
    tags: n % 3 === 0 ? 'red;blue' : 'green',
  }
}

export const rowsOf = (count: number, version = 1): Row[] =>
  Array.from({ length: count }, (_, index) => rowOf(index + 1, version))

export const cells = (rows: readonly Row[]): string[][] =>
  rows.map((row) => COLUMNS.map((column) => row[column]))

/** The mapping; where the field types have other names, each with its `type:`. */
export function mappingOf({
  prefix,
  fieldTypes,
}: Pick<Naming, 'prefix' | 'fieldTypes'>): Record<string, PropertyMapping> {
  const as = (type: PropertyMapping['type']) => (fieldTypes === 'plain' ? {} : { type })
  const mapping: Record<string, PropertyMapping> = {
    external_id: { column: 'id', ...as('text') },
    first_name: { column: 'first', ...as('text') },
    email: { column: 'mail', split: ';', ...as('email') },
    score: { column: 'score', ...as('number') },
    visits: { column: 'visits', type: 'number' },
    subscribed: { column: 'subscribed', ...as('boolean') },
    birth_date: { column: 'birth', ...as('date') },
    last_seen: { column: 'seen', ...as('datetime') },
    revenue: { column: 'revenue', unit: 'EUR', ...as('currency') },
    stage: { column: 'stage', ...as('select') },
    homepage: { column: 'home', ...as('url') },
    tags: { column: 'tags', split: ';', ...as('select') },
  }
  return Object.fromEntries(
    Object.entries(mapping).map(([name, value]) => [`${prefix}${name}`, value]),
  )
}

const wantedOf = (row: Row): Readonly<Record<string, Json>> => ({
  external_id: row.id,
  first_name: row.first,
  email: [row.mail],
  score: Number(row.score),
  visits: Number(row.visits),
  subscribed: row.subscribed === 'true',
  birth_date: row.birth,
  last_seen: row.seen,
  revenue: { amount: row.revenue, unit: 'EUR' },
  stage: row.stage,
  homepage: row.home,
  tags: row.tags.split(';'),
})

/** What of the service's contacts is not as the rows have it; empty where they are equal. `fold`: the service's own forms. */
export function contactDifferences(
  service: OtherService,
  rows: readonly Row[],
  fold: (value: Json, name: string) => Json = (value) => value,
): string[] {
  const held = new Map<string, Rec[]>()
  for (const record of service.records(service.name('contact'))) {
    const id = String(record.properties[service.name('external_id')])
    held.set(id, [...(held.get(id) ?? []), record])
  }
  const wrong: string[] = []
  for (const row of rows) {
    const records = held.get(row.id) ?? []
    held.delete(row.id)
    if (records.length !== 1) wrong.push(`${row.id}: ${records.length} records`)
    const [record] = records
    if (!record) continue
    for (const [name, value] of Object.entries(wantedOf(row))) {
      const got = record.properties[service.name(name)] ?? null
      if (!alike(got, fold(value, name))) {
        wrong.push(`${row.id} ${name}: ${JSON.stringify(got)}, not ${JSON.stringify(value)}`)
      }
    }
  }
  for (const [id, records] of held) wrong.push(`${id}: ${records.length} records of no row`)
  return wrong
}

/** Equal as values: 1.50 is 1.5, and a point in time is one in any offset. */
export function alike(a: Json, b: Json): boolean {
  if (isSame(a, b)) return true
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((one, index) => alike(one as Json, b[index] as Json))
  }
  if (isObject(a) && isObject(b)) {
    const names = new Set([...Object.keys(a), ...Object.keys(b)])
    return [...names].every((name) => alike(a[name] ?? null, b[name] ?? null))
  }
  const [left, right] = [scalar(a), scalar(b)]
  if (left === null || right === null) return false
  const [time, other] = [instant(left), instant(right)]
  if (time !== null && other !== null) return time === other
  const [one, two] = [decimal(left), decimal(right)]
  return one !== null && two !== null && compareDecimals(one, two) === 0
}

const scalar = (value: Json): string | null =>
  isNumber(value) ? textOf(value) : typeof value === 'string' ? value : null
