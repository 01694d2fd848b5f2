// Compares a mirror's table with the other service, by rules of its own: each value is in its column, or among the misfits as
// it is written.

import type { OtherService } from './index.ts'
import { isObject, parse } from './json.ts'
import type { Json } from './json.ts'
import { alike } from './contacts.ts'

export interface Sql {
  (query: string): Promise<readonly (readonly unknown[])[]>
}

/** What of a type's table is not as the service has it; empty where they are equal. */
export async function tableDifferences(
  service: OtherService,
  sql: Sql,
  type: string,
  schema = 'crm',
): Promise<string[]> {
  const properties = service.org.propertiesOf(service.org.type(type)!)
  const columns = properties.flatMap(({ name, kind, multi }) =>
    kind === 'currency' && !multi && service.naming.fieldTypes === 'plain'
      ? [name, `${name}_unit`]
      : [name],
  )
  const rows = await sql(
    `SELECT _id, _misfits, ${columns.map((name) => `"${name}"`).join(', ')} FROM ${schema}."${type}" WHERE _deleted_at IS NULL`,
  )
  const records = new Map(service.records(type).map((record) => [record.id, record]))
  const wrong: string[] = []
  for (const [id, notAsPlannedText, ...cells] of rows) {
    const record = records.get(String(id))
    records.delete(String(id))
    if (!record) {
      wrong.push(`${id} is not in the service`)
      continue
    }
    const misfits = notAsPlannedText == null ? {} : parse(String(notAsPlannedText))
    const aside = isObject(misfits) ? misfits : {}
    const held = Object.fromEntries(columns.map((name, index) => [name, cells[index] as Json]))
    for (const { name, kind } of properties) {
      const want = record.properties[name] ?? null
      const unit = held[`${name}_unit`]
      const got: Json =
        kind === 'currency' && unit !== undefined && held[name] != null
          ? { amount: held[name], unit }
          : held[name]!
      if (alike(got, want) || (got === null && alike(aside[name] ?? null, want))) continue
      // A column of JSON is a text.
      if (typeof got === 'string' && isJson(got, want)) continue
      wrong.push(`${id} ${name}: ${JSON.stringify(got)}, not ${JSON.stringify(want)}`)
    }
  }
  return [...wrong, ...[...records.keys()].map((id) => `${id} is missing`)]
}

function isJson(text: string, want: Json): boolean {
  try {
    return alike(parse(text), want)
  } catch {
    return false
  }
}
