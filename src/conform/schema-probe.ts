// What the service has: types, properties, field types, and some of its records. Each is read once, when a check first needs
// it. The probe reads leniently, so that a wrong shape breaks the rule about shapes and the others can still be checked.

import { isJsonObject, type JsonObject } from '../core/json.ts'
import type { FilterNode } from '../contract/index.ts'
import { valueKind } from './expect.ts'
import { allPages } from './pages.ts'
import type {
  ProbedAssociation,
  ProbedFieldType,
  ProbedRecord,
  ProbedProperty,
  Requests,
  RecordSample,
  ProbedType,
} from './types.ts'
import { Broken, NotApplicable, Unchecked } from './verdict.ts'
import { dataOf, type WireExchange } from './wire.ts'

/** Types whose properties and records are read. */
export const TYPES_MAX = 20
/** Pages of a sample; a type with more records is read in part. */
const SAMPLE_PAGES_MAX = 3

export interface ProbeRequests extends Requests {
  /** The scratch records of a type, if any may be created in it. */
  benchOf(type: string): { readonly prepared: readonly ProbedRecord[] } | undefined
}

export class SchemaProbe {
  private readonly kit: ProbeRequests
  private readonly kept = new Map<string, Promise<unknown>>()

  constructor(kit: ProbeRequests) {
    this.kit = kit
  }

  /** Names and facts of the types that the key sees, without properties. */
  summaries(): Promise<readonly Omit<ProbedType, 'properties'>[]> {
    return this.once('types', async () => {
      const exchange = await this.kit.call({ operation: 'listObjectTypes' })
      return listIn(exchange).flatMap((each) => summaryOf(each) ?? [])
    })
  }

  fields(): Promise<ReadonlyMap<string, ProbedFieldType>> {
    return this.once('fields', async () => {
      const exchange = await this.kit.call({ operation: 'listFieldTypes' })
      const fields = listIn(exchange).flatMap((each) => fieldOf(each) ?? [])
      return new Map(fields.map((field) => [field.name, field]))
    })
  }

  /** The types that are read, with their properties; those that cannot be read are left out, unless none can. */
  async types(): Promise<readonly ProbedType[]> {
    const all = await this.summaries()
    const isWritten = ({ name }: Pick<ProbedType, 'name'>) => this.kit.benchOf(name) !== undefined
    const others = all.filter((each) => !isWritten(each))
    const summaries = [...all.filter(isWritten), ...others].slice(0, TYPES_MAX)
    return await readable(summaries, ({ name }) => this.type(name))
  }

  async type(name: string): Promise<ProbedType> {
    const summary = (await this.summaries()).find((each) => each.name === name)
    if (!summary) throw new Unchecked(`the key sees no object type ${name}`)
    return await this.once(`type ${name}`, async () => {
      // Without them the kind of a property can still be inferred from its name.
      const fields = await this.fields().catch((error: unknown) => {
        if (error instanceof Unchecked) return new Map<string, ProbedFieldType>()
        throw error
      })
      const exchange = await this.kit.call({ operation: 'readObjectType', objectType: name })
      const raw = dataIn(exchange)['properties']
      if (!Array.isArray(raw)) {
        throw new Unchecked(`${exchange.line} shows no list of properties but ${valueKind(raw)}`)
      }
      return { ...summary, properties: raw.flatMap((each) => propertyOf(each, fields) ?? []) }
    })
  }

  /** A property that fits, and the name of its type. @throws NotApplicable, with `none` */
  async propertyWhere(
    fits: (property: ProbedProperty) => boolean,
    none: string,
  ): Promise<{ type: string; property: ProbedProperty }> {
    for (const { name: type, properties } of await this.types()) {
      const property = properties.find(fits)
      if (property) return { type, property }
    }
    throw new NotApplicable(none)
  }

  associations(): Promise<readonly ProbedAssociation[]> {
    return this.once('associations', async () => {
      const exchange = await this.kit.call({ operation: 'listAssociations' })
      return listIn(exchange).flatMap((each) => associationOf(each) ?? [])
    })
  }

  /** A type's records: its listing, up to 3 pages, and the scratch records that are not among them. */
  async sample(name: string): Promise<RecordSample> {
    return await this.once(`sample ${name}`, async () => {
      const type = await this.type(name)
      const { records, whole } = await asUnchecked(
        allPages(this.kit, { operation: 'listRecords', objectType: name }, SAMPLE_PAGES_MAX),
      )
      const seen = new Set(records.map((record) => record.id))
      const scratch = this.kit.benchOf(name)?.prepared.filter(({ id }) => !seen.has(id)) ?? []
      return { type, records: [...records, ...scratch], whole }
    })
  }

  /** Samples of these types, as far as they can be read: whole ones first, larger ones before smaller. */
  async samples(): Promise<readonly RecordSample[]> {
    const samples = await readable(await this.types(), ({ name }) => this.sample(name))
    const rank = ({ whole, records }: RecordSample) => (whole ? 1e6 : 0) + records.length
    return samples.toSorted((a, b) => rank(b) - rank(a))
  }

  /** A type with at least `records` records. @throws Unchecked */
  async sampleOf(records: number, { whole = false } = {}): Promise<RecordSample> {
    const found = (await this.samples()).find(
      (sample) => sample.records.length >= records && (sample.whole || !whole),
    )
    if (found) return found
    const small = whole ? ' and few enough to read them all' : ''
    throw new Unchecked(
      `no object type with ${records} record${records === 1 ? '' : 's'}${small}: --write TYPE makes some`,
    )
  }

  /** The type's sample is read again when it is next requested. */
  forget(name: string): void {
    this.kept.delete(`sample ${name}`)
  }

  /** The sample, read again: other clients may have written meanwhile. */
  sampleAgain({ type }: RecordSample): Promise<RecordSample> {
    this.forget(type.name)
    return this.sample(type.name)
  }

  private once<Value>(name: string, read: () => Promise<Value>): Promise<Value> {
    const kept = this.kept.get(name) as Promise<Value> | undefined
    if (kept) return kept
    const reading = read()
    this.kept.set(name, reading)
    return reading
  }
}

/** The results for those that can be read, one after the other. @throws Unchecked if none can */
async function readable<Each, Value>(
  list: readonly Each[],
  read: (each: Each) => Promise<Value>,
): Promise<Value[]> {
  const values: Value[] = []
  let first: Unchecked | null = null
  for (const each of list) {
    try {
      values.push(await read(each))
    } catch (error) {
      if (!(error instanceof Unchecked)) throw error
      first ??= error
    }
  }
  if (first && values.length === 0) throw first
  return values
}

/**
 * A filter that selects few enough records to read them all, and the records of the sample that it selects. Null if the sample
 * is not whole and no unique property can narrow it down.
 */
export function within(
  sample: RecordSample,
): { filter: FilterNode | null; records: ProbedRecord[] } | null {
  if (sample.whole) return { filter: null, records: [...sample.records] }
  const key = sample.type.properties.find(
    ({ isUnique, isMulti, operators }) => isUnique && !isMulti && operators.includes('in'),
  )
  if (!key) return null
  // The last ones: scratch records are among them.
  const records = sample.records.filter(({ properties }) => properties[key.name] != null).slice(-50)
  const value = records.map(({ properties }) => properties[key.name]!)
  return { filter: { property: key.name, op: 'in', value }, records }
}

/** Another rule checks what is broken here: for this rule it is only an obstacle. */
export async function asUnchecked<Value>(work: Promise<Value>): Promise<Value> {
  return await work.catch((error: unknown) => {
    if (!(error instanceof Broken)) throw error
    const { request, expected, got } = error.evidence
    throw new Unchecked(`${request}: expected ${expected}, got ${got}`)
  })
}

function dataIn(exchange: WireExchange): JsonObject {
  const data = dataOf(exchange)
  if (exchange.status === 200 && isJsonObject(data)) return data
  throw new Unchecked(`${exchange.line} was answered ${exchange.status} without an object in data`)
}

function listIn(exchange: WireExchange): readonly unknown[] {
  const data = dataOf(exchange)
  if (exchange.status === 200 && Array.isArray(data)) return data
  throw new Unchecked(`${exchange.line} was answered ${exchange.status} without a list in data`)
}

const textsIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
const textOr = (value: unknown, otherwise: string) =>
  typeof value === 'string' ? value : otherwise

function summaryOf(raw: unknown): Omit<ProbedType, 'properties'> | null {
  if (!isJsonObject(raw) || typeof raw['name'] !== 'string') return null
  const writable = textsIn(raw['writable_operations'])
  return { name: raw['name'], isSystem: raw['is_system'] === true, writable }
}

function fieldOf(raw: unknown): ProbedFieldType | null {
  if (!isJsonObject(raw) || typeof raw['name'] !== 'string') return null
  return {
    name: raw['name'],
    valueType: textOr(raw['value_type'], ''),
    aggregations: textsIn(raw['aggregations']),
    sortable: raw['sortable'] === true,
    units: textsIn(raw['units']),
  }
}

function propertyOf(
  raw: unknown,
  fields: ReadonlyMap<string, ProbedFieldType>,
): ProbedProperty | null {
  if (!isJsonObject(raw) || typeof raw['name'] !== 'string') return null
  const name = textOr(raw['field_type'], '')
  const unknown = { name, valueType: '', aggregations: [], sortable: false, units: [] }
  const options = Array.isArray(raw['options']) ? raw['options'] : []
  return {
    name: raw['name'],
    field: fields.get(name) ?? unknown,
    writability: textOr(raw['writability'], 'read_only'),
    operators: textsIn(raw['operators']),
    isMulti: raw['is_multi'] === true,
    isUnique: raw['is_unique'] === true,
    options: options.flatMap((each) => (isJsonObject(each) ? textsIn([each['value']]) : [])),
  }
}

function associationOf(raw: unknown): ProbedAssociation | null {
  if (!isJsonObject(raw)) return null
  const { name, source, target } = raw
  const isOne = typeof name === 'string' && typeof source === 'string' && typeof target === 'string'
  return isOne ? { name, source, target } : null
}
