// The records of a Records Service as a source: those of another org, of another type, or the same that are written to. Promise
// kept here: every record of the listing becomes exactly one row, its values in the shapes of the wire, or the reading ends with
// an error.

import { createHash } from 'node:crypto'
import {
  allFilter,
  creationProperty,
  modificationProperty,
  spanFilter,
  type FilterNode,
  type ObjectSchema,
  type RecordRepresentation,
} from '../../contract/index.ts'
import type { Aside, RecordsClient } from '../../client/index.ts'
import { isNotFound, SourceError } from '../../core/errors.ts'
import { formatNumber, joinSome } from '../../core/format.ts'
import { canonicalJson, type Json } from '../../core/json.ts'
import type { ColumnKind } from '../../core/domain/column-kind.ts'
import { lostVisibility } from '../../core/domain/visibility.ts'
import { systemClock, type Clock } from '../../core/ports.ts'
import type { Window } from '../../core/domain/watermark.ts'
import { singlePass } from '../single-pass.ts'
import type {
  Source,
  SourceFault,
  SourceRecords,
  SourceRow,
  SourceSummary,
  SourceVisibility,
} from '../source.ts'
import { sourcePages, waitAfter, type RecordsPagesOptions, type SourcePage } from './pages.ts'
import type { RecordsSettings } from './settings.ts'

/** The column of the record's id. A property of this name cannot be a column as well. */
const ID = 'id'
/** Characters of values after which a chunk is yielded although it has few rows. */
const CHUNK_CHARS_MAX = 4_194_304
const NAMES_SHOWN_MAX = 50

/** The client's operations that a source uses. */
export type SourceClient = Pick<
  RecordsClient,
  | 'origin'
  | 'keyFingerprint'
  | 'readSelf'
  | 'readObjectType'
  | 'listObjectTypes'
  | 'listFieldTypes'
  | 'recordPages'
>

export interface RecordsOptions {
  readonly signal?: AbortSignal | undefined
  /** Only records that were last changed in it, by the type's own modification property. */
  readonly window?: Window | null
  /** Default: the machine's. */
  readonly clock?: Clock
  /** Waits before a page that failed temporarily is requested again, ms. Default: 1, 4, 15 and 45 s. */
  readonly retryWaitsMs?: readonly number[]
}

/**
 * Opens the records of one type: reads the type and the first page. Columns are `id` and the properties, in the order of the
 * type, or as named. Rows are in the order in which the service lists them. A record that changes meanwhile is read before or
 * after its change; one that the service lists twice is two rows, of which an import takes the last.
 * @throws SourceError records_type, records_property, records_window, and those of reading: records_query, records_cursor;
 *   ServiceFailure; QuotaWait
 */
export async function openRecords(
  client: SourceClient,
  from: RecordsSettings['records'],
  options: RecordsOptions = {},
): Promise<Source> {
  const { clock = systemClock, retryWaitsMs = [1_000, 4_000, 15_000, 45_000] } = options
  // No value and no word of the service's own is ever quoted.
  const fault: SourceFault = (code, message) =>
    new SourceError(
      code,
      `Records of ${from.object_type} (connection ${from.connection}): ${message}`,
    )
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, ...(options.signal ? [options.signal] : [])])
  const schema = await readType(client, from.object_type, signal, fault)
  const properties = propertiesOf(schema, from.properties, fault)
  const query = {
    objectType: from.object_type,
    filter: filterOf(schema, from.filter as FilterNode | undefined, options.window, fault),
    by: await orderOf(client, schema, signal),
    properties,
    signal,
    clock,
    retryWaitsMs,
  }
  let seen = await readVisibility(client, query)
  const pages = sourcePages(client, query, fault)
  const first = await pages.next()
  async function* eachPage() {
    if (first.done !== true) yield first.value
    yield* pages
  }
  return singlePass({
    columns: [ID, ...properties],
    kinds: ['text', ...properties.map((name) => kindOf(schema, name))],
    fault,
    async *read(rowsMax, ended) {
      const onAbort = () => stop.abort(ended?.reason)
      ended?.addEventListener('abort', onAbort, { once: true })
      try {
        const summary = yield* rowsOf(eachPage(), properties, rowsMax, ended)
        const now = await readVisibility(client, query)
        if (lostVisibility(now, seen) !== null) seen = now
        return summary
      } finally {
        ended?.removeEventListener('abort', onAbort)
      }
    },
    visibility: () => seen,
    records: recordsOf(client, from, { schema, query, org: seen.org, fault }),
    async close() {
      stop.abort()
      await pages.return()
    },
  })
}

/** Kinds by field type; the others are texts. */
const KINDS = new Map<string, ColumnKind>([
  ['number', 'number'],
  ['boolean', 'boolean'],
  ['date', 'date'],
  ['datetime', 'instant'],
])

function kindOf({ properties }: ObjectSchema, name: string): ColumnKind {
  const property = properties.find((one) => one.name === name)
  if (property?.is_multi === true) return 'list'
  return KINDS.get(property?.field_type ?? '') ?? 'text'
}

/** The records as a whole: what the filter leaves out is there. */
function recordsOf(
  client: SourceClient,
  { filter }: RecordsSettings['records'],
  {
    schema,
    query,
    org,
    fault,
  }: {
    readonly schema: ObjectSchema
    readonly query: RecordsPagesOptions
    readonly org: number
    readonly fault: SourceFault
  },
): SourceRecords {
  const { objectType, properties } = query
  return {
    origin: client.origin,
    orgId: org,
    objectType,
    isFiltered: filter !== undefined,
    lookUpType(column) {
      const property = schema.properties.find(({ name }) => name === column)
      if (property === undefined || column === ID) return null
      const { field_type: type, is_multi: isMulti, operators } = property
      return !isMulti && operators.includes('in') ? type : null
    },
    async *unfiltered(by) {
      const only = by && ({ property: by.column, op: 'in', value: by.values } as FilterNode)
      let ordinal = 0
      for await (const page of sourcePages(
        client,
        { ...query, filter: only ?? undefined },
        fault,
      )) {
        const [first] = page.aside
        if (first !== undefined)
          throw fault(
            'records_unread',
            `${unreadText(first)}, so it is not known which records are gone; nothing is removed`,
          )
        yield page.records.map((record) => {
          ordinal += 1
          return { ordinal, line: ordinal, cells: cellsOf(record, properties) }
        })
      }
    },
  }
}

async function* rowsOf(
  pages: AsyncIterable<SourcePage>,
  properties: readonly string[],
  rowsMax: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly SourceRow[], SourceSummary, undefined> {
  const hash = createHash('sha256')
  let ordinal = 0
  let waiting: SourceRow[] = []
  let waitingChars = 0
  for await (const { records, aside } of pages) {
    signal?.throwIfAborted()
    for (const one of aside) {
      ordinal += 1
      hash.update(`unread ${one.what}\n`)
      waiting.push({
        ordinal,
        line: ordinal,
        cells: unreadCells(one, properties),
        unread: unreadText(one),
      })
    }
    for (const record of records) {
      const cells = cellsOf(record, properties)
      const text = canonicalJson(cells)
      hash.update(text).update('\n')
      ordinal += 1
      waiting.push({ ordinal, line: ordinal, cells })
      waitingChars += text.length
      if (waiting.length < rowsMax && waitingChars < CHUNK_CHARS_MAX) continue
      yield waiting
      signal?.throwIfAborted()
      waiting = []
      waitingChars = 0
    }
  }
  if (waiting.length > 0) yield waiting
  return { rows: ordinal, digest: hash.digest('hex') }
}

const unreadCells = ({ id }: Aside, names: readonly string[]): Json[] => [
  id,
  ...names.map(() => null),
]

const unreadText = ({ what, records, why }: Aside): string =>
  `${records === 1 ? 'the record' : `${formatNumber(records)} records`} could not be read: ${what} (${why})`

/** A property that the service leaves out has no value. */
const cellsOf = ({ id, properties }: RecordRepresentation, names: readonly string[]): Json[] => [
  id,
  ...names.map((name) => (Object.hasOwn(properties, name) ? (properties[name] as Json) : null)),
]

async function readVisibility(
  client: SourceClient,
  { signal, clock, retryWaitsMs }: Pick<RecordsPagesOptions, 'signal' | 'clock' | 'retryWaitsMs'>,
): Promise<SourceVisibility> {
  for (let failures = 0; ; failures++) {
    try {
      const self = await client.readSelf({ signal, priority: 'import' })
      const key = await client.keyFingerprint()
      return { key, reach: self.reach, user: self.principal?.entity_id ?? null, org: self.org_id }
    } catch (error) {
      await clock.sleep(waitAfter(error, retryWaitsMs[failures]), signal)
    }
  }
}

async function readType(
  client: SourceClient,
  objectType: string,
  signal: AbortSignal,
  fault: SourceFault,
): Promise<ObjectSchema> {
  const options = { signal, priority: 'import' } as const
  try {
    return await client.readObjectType(objectType, options)
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
  const types = await client.listObjectTypes(options)
  throw fault(
    'records_type',
    `there is no such object type, or the key cannot read it; it can read: ${shown(types.map(({ name }) => name))}`,
  )
}

/** The property that the records are read in the order of: the time of their creation, which stays. Null if none can be sorted by. */
async function orderOf(
  client: SourceClient,
  schema: ObjectSchema,
  signal: AbortSignal,
): Promise<string | null> {
  const created = creationProperty(schema)
  if (created === null) return null
  const types = await client.listFieldTypes({ signal, priority: 'import' })
  const type = types.find(({ name }) => name === created.field_type)
  return type?.sortable === true ? created.name : null
}

/** The properties that become columns. */
function propertiesOf(
  schema: ObjectSchema,
  named: readonly string[] | undefined,
  fault: SourceFault,
): string[] {
  const names = schema.properties.map(({ name }) => name).filter((name) => name !== ID)
  if (named === undefined) return names
  const wanted = [...new Set(named)].filter((name) => name !== ID)
  const unknown = wanted.filter((name) => !names.includes(name))
  if (unknown.length === 0) return wanted
  throw fault(
    'records_property',
    `the type has no property ${shown(unknown)}, or the key cannot read it; it has: ${shown(names)}`,
  )
}

/** The filter, within the window. */
function filterOf(
  schema: ObjectSchema,
  filter: FilterNode | undefined,
  window: Window | null | undefined,
  fault: SourceFault,
): FilterNode | undefined {
  if (!window) return filter
  const property = modificationProperty(schema)
  if (property === null)
    throw fault(
      'records_window',
      'the type has no property that tells when a record was changed last (such as updated_at, a datetime that nobody writes), so it has no window; leave out from and to',
    )
  const within = spanFilter(property.name, window.from, window.to)
  return allFilter([...(filter ? [filter] : []), ...within]) ?? undefined
}

const shown = (names: readonly string[]): string => joinSome(names, NAMES_SHOWN_MAX) || 'none'
