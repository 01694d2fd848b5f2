// Compares the table of a mirror with the service, by rules of its own: what the tests of the mirror believe.

import type { RecordsClient } from '../src/client/index.ts'
import { canonicalDecimal, decimalOfNumber } from '../src/core/decimal.ts'
import { canonicalJson, type Json } from '../src/core/json.ts'
import { openWarehouse, type WarehousePlace } from '../src/warehouses/index.ts'

/** Of the warehouses that the tests write to by themselves. */
export type MirrorPlace = Extract<WarehousePlace, { duckdb: string } | { postgres: string }>

/** Rows of a SELECT, as cells. */
export async function rowsOf(
  place: WarehousePlace,
  query: string,
): Promise<readonly (readonly Json[])[]> {
  const warehouse = await openWarehouse('dwh', place)
  try {
    const reading = await warehouse.read(query)
    const rows: (readonly Json[])[] = []
    for await (const chunk of reading.chunks(1_000)) rows.push(...chunk)
    return rows
  } finally {
    await warehouse.close()
  }
}

interface Sides {
  readonly service: {
    records(type: string): Iterable<{ readonly id: string; readonly properties: object }>
  }
  readonly client: Pick<RecordsClient, 'readObjectType'>
  sql(query: string): Promise<readonly (readonly Json[])[]>
  readonly schema: string
}

/** What of a type's table is not as the service has it; empty where they are equal. */
export async function differenceOf(
  { service, client, sql, schema }: Sides,
  type: string,
): Promise<string[]> {
  const { properties } = await client.readObjectType(type)
  const names = properties.map(({ name }) => name)
  const columns = properties.flatMap((property) =>
    property.field_type === 'currency' && !property.is_multi
      ? [property.name, `${property.name}_unit`]
      : [property.name],
  )
  const rows = await sql(
    `SELECT _id, ${columns.map((name) => `"${name}"`).join(', ')}, _misfits FROM ${schema}."${type}" WHERE _deleted_at IS NULL`,
  )
  const fieldTypes = new Map(properties.map((one) => [one.name, one]))
  const expected = new Map(
    [...service.records(type)].map(({ id, properties: values }) => [
      id,
      names.flatMap((name) => {
        const { field_type, is_multi } = fieldTypes.get(name)!
        return expectedCells(
          (values as Readonly<Record<string, Json>>)[name]!,
          field_type,
          is_multi,
        )
      }),
    ]),
  )
  const wrong: string[] = []
  for (const row of rows) {
    const id = String(row[0])
    const want = expected.get(id)
    expected.delete(id)
    if (!want) {
      wrong.push(`${id} is not in the service`)
      continue
    }
    const misfits = row.at(-1) === null ? {} : (JSON.parse(String(row.at(-1))) as object)
    columns.forEach((column, index) => {
      const isJson = typeof want[index] === 'string' && want[index].startsWith('[{')
      const held = row[index + 1]!
      const got = isJson ? canonicalJson(JSON.parse(String(held)) as Json) : plain(held)
      const value = plain(want[index]!)
      const isAside = Object.hasOwn(misfits, column.replace(/_unit$/, ''))
      if (!isAside && JSON.stringify(got) !== JSON.stringify(value))
        wrong.push(`${id} ${column}: ${JSON.stringify(got)}, not ${JSON.stringify(value)}`)
    })
  }
  return [...wrong, ...[...expected.keys()].map((id) => `${id} is missing`)]
}

/** A column's decimals come with the zeros of its scale. */
const plain = (cell: Json): Json =>
  Array.isArray(cell)
    ? (cell as Json[]).map(plain)
    : typeof cell === 'string'
      ? (canonicalDecimal(cell) ?? cell)
      : cell

function expectedCells(value: Json, fieldType: string, isMulti: boolean): Json[] {
  const one = (item: Json): Json => {
    if (fieldType === 'number') return decimalOfNumber(item as number)
    if (fieldType === 'datetime') return String(item).replace(/\.?0*Z$/, 'Z')
    return item
  }
  if (fieldType === 'currency' && !isMulti) {
    const money = value as { amount: string; unit: string } | null
    return money === null ? [null, null] : [canonicalDecimal(money.amount), money.unit]
  }
  if (value === null) return [null]
  if (!isMulti) return [one(value)]
  return fieldType === 'currency' ? [canonicalJson(value)] : [(value as Json[]).map(one)]
}
