// How a table follows its object type. Promise kept here: no column is ever dropped or changed; it keeps the type that it was made
// with, and a property of another type gets another column.

import type { ObjectSchema, PropertyWire } from '../contract/index.ts'
import { OWN_COLUMNS, SYSTEM_COLUMNS } from '../core/domain/mirror.ts'
import type { SchemaChange, SchemaChangeHandling } from '../core/domain/schema-changes.ts'
import type { SchemaChanges } from '../../config/index.ts'
import type { MirrorColumn, MirrorStream, StreamChange } from '../warehouses/mirror-tables.ts'
import { fitName, createNamer } from './names.ts'
import { columnsByProperty, columnFieldType, columnShapes } from './columns.ts'

export interface SchemaEvolution {
  /** What the warehouse has to do; null for nothing. */
  readonly change: StreamChange | null
  /** The stream after the change: columns that were live, then revived and new ones, then the rest. */
  readonly stream: MirrorStream
  /** Properties that existing rows have no value of: the column is new in an existing table, or was revived. */
  readonly backfill: readonly string[]
  /** What is other than when the table was changed last; nothing of a table that is new. */
  readonly found: readonly SchemaChange[]
  /** What `freeze` objects to, such as `new property svc_x (number)`; nothing is changed then. */
  readonly frozen: readonly string[]
  /** Properties that have no column: no database can write their names. */
  readonly omitted: readonly string[]
}

/** No text of a database has U+0000, or half of a surrogate pair. */
const UNWRITABLE = /[\0\p{Surrogate}]/u

/**
 * Compares a stream, or none if there is no table yet, with the schema of its object type. `takenTables` are the tables of the
 * mirror's other streams.
 */
export function evolveSchema(
  objectType: string,
  stream: MirrorStream | undefined,
  schema: ObjectSchema,
  mode: SchemaChanges,
  takenTables: Iterable<string>,
): SchemaEvolution {
  const all = [...new Map(schema.properties.map((one) => [one.name, one])).values()]
  const properties = all.filter(({ name }) => !UNWRITABLE.test(name))
  const omitted = all.map(({ name }) => name).filter((name) => UNWRITABLE.test(name))
  if (stream === undefined) return { ...firstTime(objectType, properties, takenTables), omitted }
  const steps = stepsOf(stream, properties)
  const left = { change: null, stream, backfill: [], frozen: [], omitted }
  const foundWith = (added: readonly MirrorColumn[]) =>
    steps.map((step) => foundOf(step, mode, added))
  if (mode === 'freeze')
    return { ...left, found: foundWith([]), frozen: steps.map(({ objection }) => objection) }
  const chosen = steps.filter((step) => mode === 'evolve' || !isLeftOut(step))
  if (chosen.length === 0) return { ...left, found: foundWith([]) }
  const retire = chosen.flatMap((step) => step.retire)
  const revive = chosen.flatMap((step) => step.revive)
  const added = chosen.flatMap((step) => (step.add ? [step.add] : []))
  const add = columnsOf(added, stream.columns)
  return {
    ...left,
    found: foundWith(add),
    change: {
      name: stream.name,
      table: stream.table,
      add,
      retire: retire.map(({ name }) => name),
      revive: revive.map(({ name }) => name),
    },
    stream: { ...stream, columns: after(stream.columns, { add, retire, revive }) },
    backfill: [...new Set([...revive, ...add].map(({ property }) => property))],
  }
}

function firstTime(
  objectType: string,
  properties: readonly PropertyWire[],
  takenTables: Iterable<string>,
): Omit<SchemaEvolution, 'omitted'> {
  const columns = columnsOf(properties, [])
  const stream = { name: objectType, table: fitName(objectType, takenTables), columns }
  const { name, table } = stream
  const change = { name, table, add: columns, retire: [], revive: [] }
  return { change, stream, backfill: [], found: [], frozen: [] }
}

/** What one property needs. */
interface Step {
  readonly kind: SchemaChange['kind']
  readonly property: string
  readonly before: string | null
  readonly now: string | null
  readonly objection: string
  readonly retire: readonly MirrorColumn[]
  readonly revive: readonly MirrorColumn[]
  readonly add: PropertyWire | null
}

function stepsOf(stream: MirrorStream, properties: readonly PropertyWire[]): Step[] {
  const gone = columnsByProperty(stream.columns)
  const steps: Step[] = []
  for (const property of properties) {
    const { name } = property
    const columns = gone.get(name) ?? []
    gone.delete(name)
    const type = columnFieldType(property)
    const live = columns.filter((column) => column.live)
    if (live.some(({ fieldType }) => fieldType === type)) continue
    const revive = columns.filter(({ fieldType }) => fieldType === type)
    const add = revive.length === 0 ? property : null
    const before = live[0]?.fieldType
    const of = { property: name, before: null, now: type }
    if (before !== undefined) {
      const objection = `property ${name} is ${type} instead of ${before}`
      steps.push({ ...of, kind: 'retyped', before, objection, retire: live, revive, add })
    } else if (add) {
      const objection = `new property ${name} (${type})`
      steps.push({ ...of, kind: 'added', objection, retire: [], revive, add })
    } else {
      const objection = `property ${name} (${type}) is back`
      steps.push({ ...of, kind: 'back', objection, retire: [], revive, add })
    }
  }
  for (const [property, columns] of gone) {
    const retire = columns.filter(({ live }) => live)
    if (retire.length === 0) continue
    const objection = `property ${property} is gone`
    const of = { property, before: retire[0]!.fieldType, now: null }
    steps.push({ ...of, kind: 'removed', objection, retire, revive: [], add: null })
  }
  return steps
}

/** Whether `ignore` leaves the table as it is. */
const isLeftOut = ({ kind }: Step): boolean => kind === 'added' || kind === 'retyped'

/** @param added all columns that are added */
function foundOf(step: Step, mode: SchemaChanges, added: readonly MirrorColumn[]): SchemaChange {
  const { kind, property, before, now, retire, revive, add } = step
  const handling = handlingOf(step, mode)
  const own = add ? added.filter((column) => column.property === property) : revive
  const columns = handling === 'column_added' || handling === 'column_revived' ? own : retire
  return { property, kind, before, now, handling, columns: columns.map(({ name }) => name) }
}

function handlingOf(step: Step, mode: SchemaChanges): SchemaChangeHandling {
  if (mode === 'freeze') return 'frozen'
  if (mode === 'ignore' && isLeftOut(step)) return step.kind === 'added' ? 'left_out' : 'misfits'
  if (step.kind === 'removed') return 'column_kept'
  return step.add ? 'column_added' : 'column_revived'
}

/**
 * The columns of new properties; their names differ from those of existing columns and of those that every table has. Values get
 * theirs first: a unit gives way to a property with its name.
 */
function columnsOf(
  properties: readonly PropertyWire[],
  there: readonly MirrorColumn[],
): MirrorColumn[] {
  const give = createNamer([...OWN_COLUMNS, ...SYSTEM_COLUMNS, ...there.map(({ name }) => name)])
  const known = new Set(there.map(({ property }) => property))
  const wishes = properties.flatMap((property) => {
    const fieldType = columnFieldType(property)
    const suffix = known.has(property.name) ? `__${fieldType.replace(/\[\]$/, '_list')}` : ''
    return columnShapes(property).map((shape) => ({ property, fieldType, suffix, shape }))
  })
  const names = new Map<object, string>()
  for (const part of ['value', 'unit'] as const)
    for (const wish of wishes)
      if (wish.shape.part === part)
        names.set(
          wish,
          give(`${wish.property.name}${wish.suffix}${part === 'unit' ? '_unit' : ''}`),
        )
  return wishes.map((wish) => ({
    name: names.get(wish)!,
    property: wish.property.name,
    ...wish.shape,
    fieldType: wish.fieldType,
    live: true,
  }))
}

function after(
  columns: readonly MirrorColumn[],
  change: Readonly<Record<'add' | 'retire' | 'revive', readonly MirrorColumn[]>>,
): MirrorColumn[] {
  const retired = new Set(change.retire)
  const revived = new Set(change.revive)
  const rest = columns.filter((column) => !revived.has(column))
  return [
    ...rest.filter((column) => column.live && !retired.has(column)),
    ...change.revive.map((column) => ({ ...column, live: true })),
    ...change.add,
    ...rest
      .filter((column) => !column.live || retired.has(column))
      .map((column) => ({ ...column, live: false })),
  ]
}
