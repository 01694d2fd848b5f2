// A service with an object type that has every field type, each alone and as a list, and records with every shape of a value.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RecordsClient } from '../../../src/client/index.ts'
import type { Json } from '../../../src/core/json.ts'
import { readSchemaFile, type OrgSchema } from '../../../src/service/index.ts'

const TYPES = ['text', 'long_text', 'email', 'phone', 'url', 'number', 'currency'] as const
const MORE = ['boolean', 'date', 'datetime', 'user'] as const
const options = ['red', 'blau', '緑']

const properties = [
  { name: 'code', field_type: 'text', is_unique: true },
  ...[...TYPES, ...MORE].flatMap((field_type) => [
    { name: `one_${field_type}`, field_type },
    { name: `many_${field_type}`, field_type, is_multi: true },
  ]),
  { name: 'one_select', field_type: 'select', options },
  { name: 'many_select', field_type: 'multi_select', options },
]

/** `code` is unique; the others are `one_…` and `many_…`. */
export const NAMES: readonly string[] = properties.map(({ name }) => name)
export const TYPE = 'sample'

/** The type `sample`, and `sealed`, which accepts no writes. */
export function everyShape(): OrgSchema {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-shapes-'))
  try {
    const file = join(dir, 'schema.json')
    const sealed = { name: 'sealed', label_plural: 'Sealed', writable_operations: [], properties }
    const types = [{ name: TYPE, label_plural: 'Samples', properties }, sealed]
    writeFileSync(file, JSON.stringify({ types }))
    return readSchemaFile(file)
  } finally {
    rmSync(dir, { recursive: true })
  }
}

const money = (amount: string, unit: string) => ({ amount, unit })

/** Values of every field type, the odd ones among them. */
const VALUES: Readonly<Record<string, readonly Json[]>> = {
  text: ['plain', '  kept  ', 'Zoë – 東京 🦊', 'e\u0301', 'a;b,"c"\n', 'null', '0', '["x"]'],
  long_text: ['x'.repeat(5_000), '<p>&amp;</p>', '\u202eabc', '=1+1', '{"amount":"1"}'],
  email: ['ada@example.com', 'é@bücher.example'],
  phone: ['+49 (30) 123-456', '0123'],
  url: ['https://example.com/?q=a b'.replace(' ', '%20'), 'http://例え.jp/'],
  number: [0, -1.5, 123456789012345, 1e21, 1e-7, 9.00719925474099e15, 0.1],
  currency: [money('0', 'EUR'), money('-12.5', 'USD'), money('12345678901234567890.01', 'JPY')],
  boolean: [true, false],
  date: ['2024-02-29', '0001-01-01', '9999-12-31'],
  datetime: ['2026-01-31T08:15:00.000Z', '1969-12-31T23:59:59.999Z'],
  user: ['usr_ada', 'usr_ben'],
  select: options,
}

/** `count` records: each value of each type comes up, alone and in lists; every third property is empty. */
export function samples(count: number): Record<string, Json>[] {
  return Array.from({ length: count }, (_, index) => {
    const record: Record<string, Json> = { code: `s-${index}` }
    for (const [place, name] of NAMES.slice(1).entries()) {
      const [form, ...type] = name.split('_')
      const values = VALUES[type.join('_')]!
      const at = (offset: number) => values[(index + offset) % values.length]!
      if ((index + place) % 3 === 0) record[name] = null
      else if (form === 'one') record[name] = at(0)
      else record[name] = index % 2 === 0 ? [at(0)] : [...new Set([at(0), at(1), at(2)])]
    }
    return record
  })
}

export async function seed(client: RecordsClient, records: readonly Record<string, Json>[]) {
  for (let from = 0; from < records.length; from += 50) {
    const items = records.slice(from, from + 50).map((properties) => ({ properties }))
    const { summary } = await client.batchCreate(TYPE, { items } as never)
    if (summary.failed > 0) throw new Error(`${summary.failed} samples were refused`)
  }
}
