// The records of a Records Service as a source: those of another org, of another type, or the same that are written to. Promise
// kept here: every record of the listing becomes exactly one row, its values in the shapes of the wire, or the reading ends with
// an error.

import { createHash } from 'node:crypto'
import {
  allFilter,
  modificationProperty,
  spanFilter,
  type FilterNode,
  type ObjectSchema,
  type RecordPage,
  type RecordRepresentation,
} from '../../contract/index.ts'
import type { RecordsClient } from '../../client/index.ts'
import { ServiceFailure } from '../../core/errors.ts'
import { canonicalJson, type Json } from '../../core/json.ts'
import { systemClock, type Clock } from '../../core/ports.ts'
import type { Window } from '../../core/domain/watermark.ts'
import { SinglePass } from '../single-pass.ts'
import type { Source, SourceRow, SourceSummary } from '../source.ts'
import { recordsFaults, type RecordsFault } from './faults.ts'
import { sourcePages } from './pages.ts'
import type { RecordsSettings } from './settings.ts'

/** The column of the record's id. A property of this name cannot be a column as well. */
const ID = 'id'
/** Characters of values after which a chunk is yielded although it has few rows. */
const CHUNK_CHARS_MAX = 4_194_304
const NAMES_SHOWN_MAX = 50

/** The client's operations that a source uses. */
export type SourceClient = Pick<RecordsClient, 'readObjectType' | 'listObjectTypes' | 'recordPages'>

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
  const fault = recordsFaults(from.object_type, from.connection)
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, ...(options.signal ? [options.signal] : [])])
  const schema = await readType(client, from.object_type, signal, fault)
  const properties = propertiesOf(schema, from.properties, fault)
  const query = {
    objectType: from.object_type,
    filter: filterOf(schema, from.filter as FilterNode | undefined, options.window, fault),
    properties,
    signal,
    clock,
    retryWaitsMs,
  }
  const pages = sourcePages(client, query, fault)
  const first = await pages.next()
  return new RecordsSource(properties, first.done === true ? null : first.value, pages, stop, fault)
}

class RecordsSource implements Source {
  readonly columns: readonly string[]
  readonly #properties: readonly string[]
  readonly #first: RecordPage | null
  readonly #pages: AsyncGenerator<RecordPage, void, undefined>
  readonly #stop: AbortController
  readonly #once: SinglePass

  constructor(
    properties: readonly string[],
    first: RecordPage | null,
    pages: AsyncGenerator<RecordPage, void, undefined>,
    stop: AbortController,
    fault: RecordsFault,
  ) {
    this.columns = [ID, ...properties]
    this.#properties = properties
    this.#first = first
    this.#pages = pages
    this.#stop = stop
    this.#once = new SinglePass(fault)
  }

  async *chunks(
    rowsMax: number,
    signal?: AbortSignal,
  ): AsyncGenerator<readonly SourceRow[], void, undefined> {
    this.#once.begin()
    const onAbort = () => this.#stop.abort(signal?.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      yield* this.#read(rowsMax, signal)
    } finally {
      signal?.removeEventListener('abort', onAbort)
    }
  }

  async *#read(
    rowsMax: number,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<readonly SourceRow[], void, undefined> {
    const hash = createHash('sha256')
    let ordinal = 0
    let waiting: SourceRow[] = []
    let waitingChars = 0
    for await (const page of this.#eachPage()) {
      signal?.throwIfAborted()
      for (const record of page.data) {
        const cells = this.#cellsOf(record)
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
    this.#once.end({ rows: ordinal, digest: hash.digest('hex') })
  }

  async *#eachPage(): AsyncGenerator<RecordPage, void, undefined> {
    if (this.#first !== null) yield this.#first
    yield* this.#pages
  }

  /** A property that the service leaves out has no value. */
  #cellsOf({ id, properties }: RecordRepresentation): Json[] {
    const cells = this.#properties.map((name) =>
      Object.hasOwn(properties, name) ? (properties[name] as Json) : null,
    )
    return [id, ...cells]
  }

  summary(): SourceSummary {
    return this.#once.summary()
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#pages.return()
  }
}

async function readType(
  client: SourceClient,
  objectType: string,
  signal: AbortSignal,
  fault: RecordsFault,
): Promise<ObjectSchema> {
  const options = { signal, priority: 'import' } as const
  try {
    return await client.readObjectType(objectType, options)
  } catch (error) {
    if (!(error instanceof ServiceFailure) || error.status !== 404) throw error
  }
  const types = await client.listObjectTypes(options)
  throw fault(
    'records_type',
    `there is no such object type, or the key cannot read it; it can read: ${shown(types.map(({ name }) => name))}`,
  )
}

/** The properties that become columns. */
function propertiesOf(
  schema: ObjectSchema,
  named: readonly string[] | undefined,
  fault: RecordsFault,
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
  fault: RecordsFault,
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

function shown(names: readonly string[]): string {
  const more = names.length - NAMES_SHOWN_MAX
  const list = names.slice(0, NAMES_SHOWN_MAX).join(', ') || 'none'
  return more > 0 ? `${list} and ${more} more` : list
}
