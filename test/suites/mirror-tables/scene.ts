// What the tests of every driver of mirror tables share: streams, rows, and a reader that asks the database itself, in SQL
// that both dialects understand.

import { onTestFinished } from 'vitest'
import { canonicalDecimal } from '../../../src/core/decimal.ts'
import { canonicalJson, parseJson } from '../../../src/core/json.ts'
import type {
  ColumnType,
  MergeCounts,
  MirrorCell,
  MirrorColumn,
  MirrorRow,
  MirrorStream,
  MirrorTables,
  MirrorValue,
  StreamChange,
} from '../../../src/warehouses/mirror-tables.ts'
import { rounds } from '../../runs.ts'

/** A place of its own for one test. */
export interface MirrorPlace {
  /** Another handle, as another process has it. Default schema: any. */
  open(schema?: string): Promise<MirrorTables>
  /** Rows of a SELECT, read with the database's own means, to the character. The suite casts every value to text. */
  query(sql: string): Promise<readonly (readonly unknown[])[]>
  /** A statement that a person runs by hand. */
  alter(sql: string): Promise<void>
  /** What a column is declared as, in SQL, by what it holds. */
  readonly types: Readonly<Record<ColumnType['holds'], string>>
  cleanup(): Promise<void>
}
export type OpenPlace = () => Promise<MirrorPlace>

export const OWNER = 'https://api.example.com org 7'
export const PROJECT = '3f9ac2b1'

/** The instant so many minutes after another. */
export const at = (minutes: number): string =>
  new Date(Date.UTC(2026, 0, 1) + minutes * 60_000).toISOString().replace('.000Z', 'Z')

export const column = (
  name: string,
  holds: ColumnType['holds'],
  more: Partial<MirrorColumn> = {},
): MirrorColumn => ({
  name,
  property: name,
  part: 'value',
  fieldType: holds,
  type: { holds, list: false },
  live: true,
  ...more,
})

export const listColumn = (name: string, holds: ColumnType['holds']): MirrorColumn =>
  column(name, holds, { fieldType: `${holds}[]`, type: { holds, list: true } })

export const contacts: MirrorStream = {
  name: 'svc_contact',
  table: 'svc_contact',
  columns: [column('name', 'text'), column('owner', 'text'), column('born', 'instant')],
}

/** A row of `contacts`. */
export const contact = (
  id: string,
  name: string | null,
  more: {
    version?: string | null
    owner?: string | null
    born?: string | null
    misfits?: string | null
  } = {},
): MirrorRow => ({
  id,
  version: more.version ?? null,
  cells: [name, more.owner ?? null, more.born ?? null],
  misfits: more.misfits ?? null,
})

/** A row as the database has it. Cells are those of the stream's columns, in their order. */
export interface StoredRow {
  readonly id: string
  readonly version: string | null
  readonly firstSeen: string | null
  readonly lastSeen: string | null
  readonly deleted: string | null
  readonly run: number
  readonly misfits: string | null
  readonly cells: readonly MirrorCell[]
}

export const NOTHING: MergeCounts = { inserted: 0, changed: 0, unchanged: 0, older: 0, reverted: 0 }

/** How often a property is tried. */
export const SEQUENCES = rounds(3, 50)

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** What makes this stream's table where there is none. */
export const making = (stream: MirrorStream): StreamChange => ({
  name: stream.name,
  table: stream.table,
  add: stream.columns,
  retire: [],
  revive: [],
})

export class Scene {
  readonly place: MirrorPlace
  readonly schema: string
  readonly tables: MirrorTables
  constructor(place: MirrorPlace, schema: string, tables: MirrorTables) {
    this.place = place
    this.schema = schema
    this.tables = tables
  }

  /** Another handle on the same tables, as another process has it. */
  async another(schema = this.schema): Promise<MirrorTables> {
    const tables = await this.place.open(schema)
    onTestFinished(() => tables.close())
    return tables
  }

  async make(...streams: readonly MirrorStream[]): Promise<void> {
    await this.tables.change(streams.map(making))
  }

  /** Merges the rows of each `[seenAt, rows]` as one batch, under a fence of its own. */
  async merge(
    stream: MirrorStream,
    pages: readonly (readonly [seenAt: string, rows: readonly MirrorRow[]])[],
    more: { readonly run?: number; readonly position?: string } = {},
  ): Promise<MergeCounts> {
    const { fence } = await this.tables.claim(stream.name)
    const batch = await this.tables.batch(stream)
    for (const [seenAt, rows] of pages) await batch.add(rows, seenAt)
    return await batch.merge({ run: more.run ?? 1, fence, position: more.position ?? 'a position' })
  }

  async position(stream: MirrorStream): Promise<string | null> {
    return await this.tables.position(stream.name)
  }

  /** Name of the table, for SQL. */
  sql(stream: Pick<MirrorStream, 'table'>): string {
    return `${quoted(this.schema)}.${quoted(stream.table)}`
  }

  /** Runs a SELECT; every value must be text in it. */
  async ask(sql: string): Promise<(string | null)[][]> {
    const rows = await this.place.query(sql)
    return rows.map((row) => row.map((value) => (value === null ? null : String(value))))
  }

  /** The rows of a table, deleted ones too, in the order of their ids. */
  async rows(stream: MirrorStream, where = ''): Promise<StoredRow[]> {
    const lengths = await this.#lengths(stream)
    const own = [
      this.#text('"_id"', 'text'),
      ...['_version', '_first_seen_at', '_last_seen_at', '_deleted_at'].map((name) =>
        this.#text(quoted(name), 'instant'),
      ),
      'CAST("_run" AS text)',
      'CAST("_misfits" AS text)',
    ]
    const parts = stream.columns.map(({ name, type }) =>
      type.list
        ? [
            `CAST(${quoted(name)} IS NULL AS text)`,
            `CAST(COALESCE(array_length(${quoted(name)}, 1), 0) AS text)`,
            ...Array.from({ length: lengths.get(name)! }, (_, index) =>
              this.#text(`(${quoted(name)})[${index + 1}]`, type.holds),
            ),
          ]
        : [this.#text(quoted(name), type.holds)],
    )
    const values = [own, ...parts].flat()
    const rows = await this.ask(`SELECT ${values.join(', ')} FROM ${this.sql(stream)} ${where}`)
    const stored = rows.map((row): StoredRow => {
      const [id, ...times] = row
      const [version, firstSeen, lastSeen, deleted] = times.slice(0, 4).map(instantOf)
      let next = own.length
      const cells = stream.columns.map(({ type }, index): MirrorCell => {
        const part = row.slice(next, (next += parts[index]!.length))
        if (!type.list) return valueOf(part[0]!, type.holds)
        const [isNull, length, ...items] = part
        if (isNull === 'true') return null
        return items.slice(0, Number(length)).map((item) => valueOf(item, type.holds)!)
      })
      return {
        id: id!,
        version: version!,
        firstSeen: firstSeen!,
        lastSeen: lastSeen!,
        deleted: deleted!,
        run: Number(row[5]),
        misfits: row[6] === null ? null : canonicalJson(parseJson(row[6]!)),
        cells,
      }
    })
    return stored.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  }

  /** The first cell of every row that is there, by its id. */
  async names(stream: MirrorStream): Promise<Record<string, MirrorCell>> {
    const rows = await this.rows(stream, 'WHERE "_deleted_at" IS NULL')
    return Object.fromEntries(rows.map(({ id, cells }) => [id, cells[0]!]))
  }

  /** Items of the longest list of each list column. */
  async #lengths(stream: MirrorStream): Promise<Map<string, number>> {
    const lists = stream.columns.filter(({ type }) => type.list)
    if (lists.length === 0) return new Map()
    const longest = lists.map(
      ({ name }) => `CAST(MAX(COALESCE(array_length(${quoted(name)}, 1), 0)) AS text)`,
    )
    const [row] = await this.ask(`SELECT ${longest.join(', ')} FROM ${this.sql(stream)}`)
    return new Map(lists.map(({ name }, index) => [name, Number(row![index])]))
  }

  /** An instant with a zone is text in the zone of the session, whatever that is. */
  #text(expression: string, holds: ColumnType['holds']): string {
    const isZoned = holds === 'instant' && /tz|with time zone/i.test(this.place.types.instant)
    return `CAST(${expression}${isZoned ? " AT TIME ZONE 'UTC'" : ''} AS text)`
  }
}

/** `2026-01-31 08:15:00.500000` as `2026-01-31T08:15:00.5Z`. */
function instantOf(text: string | null): string | null {
  if (text === null) return null
  return `${text
    .replace(' ', 'T')
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '')}Z`
}

/** A database's text in the one form of its value. */
function valueOf(text: string | null, holds: ColumnType['holds']): MirrorValue | null {
  if (text === null) return null
  if (holds === 'decimal') return canonicalDecimal(text) ?? text
  if (holds === 'boolean') return text === 'true'
  if (holds === 'instant') return instantOf(text)
  return holds === 'json' ? canonicalJson(parseJson(text)) : text
}

/** A schema that is owned, and has the tables of these streams. */
export async function sceneOf(
  open: OpenPlace,
  streams: readonly MirrorStream[] = [contacts],
  schema = 'crm',
): Promise<Scene> {
  const place = await open()
  onTestFinished(() => place.cleanup())
  const tables = await place.open(schema)
  onTestFinished(() => tables.close())
  const scene = new Scene(place, schema, tables)
  await tables.own(OWNER, PROJECT)
  if (streams.length > 0) await scene.make(...streams)
  return scene
}
