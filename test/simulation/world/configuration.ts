// The configuration file of the world, and the key that it names. People edit both while runs are under way.

import { writeFileSync, renameSync, chmodSync } from 'node:fs'
import { join } from 'node:path'
import { isOnPostgres } from '../search/database.ts'
import { COPIED_TYPE, COPIES, FILTERED_PROPERTY, type CopyScene } from '../search/copies.ts'
import { GONE, GONE_COLUMN } from '../search/parts.ts'
import { associationOf, LINK_COLUMN, LINK_SEPARATOR } from '../search/links.ts'
import type { MirrorScene, QueryScene, Scene, SyncScene } from '../search/plan.ts'
import { KEYS } from './service.ts'
import { DATABASE_URL, LEDGER_SCHEMA } from '../postgres/names.ts'
import { QUERIED, queryOf } from './queries.ts'
import { MIRROR } from './warehouse.ts'

type Json = Record<string, unknown>

export const KEY_PROPERTY = 'code'

function mappingOf({ protection }: SyncScene, property: string): Json | string {
  const settings = {
    ...(property === 'size' && { type: 'number' }),
    ...(protection?.ifEmpty === property && { write: 'if_empty' }),
  }
  return Object.keys(settings).length === 0 ? property : { column: property, ...settings }
}

const protectionOf = ({ protection }: SyncScene): Json =>
  protection === null || protection.onConflict === 'ours'
    ? {}
    : { on_conflict: protection.onConflict, first_contact: protection.firstContact }

const linksOf = (sync: SyncScene): Json =>
  sync.links === null
    ? {}
    : {
        links: [
          {
            association: associationOf(sync),
            to: sync.links.to,
            by: KEY_PROPERTY,
            column: LINK_COLUMN,
            missing: sync.links.missing,
            ...(sync.links.splits && { split: LINK_SEPARATOR }),
          },
        ],
      }

const importOf = (sync: SyncScene, more: Json): Json => ({
  from: sync.query === null ? { csv: `./${sync.name}.csv` } : queryOf(sync, sync.query),
  to: 'crm',
  object_type: sync.type,
  matching_property: KEY_PROPERTY,
  mode: sync.mode,
  verify: sync.verify,
  ...(sync.keepBefore && { keep_before: true }),
  ...(sync.missingRows !== 'ignore' && {
    missing_rows: sync.missingRows,
    missing_rows_max_percent: 100,
  }),
  ...protectionOf(sync),
  ...(sync.asks && { approve: 'plan' }),
  ...(sync.asksDeletion && { delete_when: { column: GONE_COLUMN, equals: GONE } }),
  ...linksOf(sync),
  properties: Object.fromEntries(
    [KEY_PROPERTY, ...sync.properties].map((property) => [property, mappingOf(sync, property)]),
  ),
  ...more,
})

const copiesOf = ({ missingRows }: CopyScene): Json => ({
  from: {
    records: {
      connection: 'crm',
      object_type: 'contact',
      filter: { property: FILTERED_PROPERTY, op: 'is_null', value: true },
    },
  },
  to: 'crm',
  object_type: COPIED_TYPE,
  matching_property: KEY_PROPERTY,
  mode: 'upsert',
  ...(missingRows !== 'ignore' && {
    missing_rows: missingRows,
    missing_rows_max_percent: 100,
  }),
  properties: { [KEY_PROPERTY]: KEY_PROPERTY, name: 'name' },
})

const mirrorOf = ({ types, deletions, deletionsMaxPercent }: MirrorScene): Json => ({
  from: 'crm',
  to: 'dwh',
  object_types: types,
  deletions,
  deletions_max_percent: deletionsMaxPercent,
})

export class Configuration {
  readonly file: string
  readonly #folder: string
  readonly #scene: Scene
  #service = 'https://crm.example'
  #key: string = KEYS.home
  /** Settings that were edited, by sync. */
  readonly #edits = new Map<string, Json>()
  readonly #every = new Map<string, number>()
  readonly #queries = new Map<string, QueryScene>()

  constructor(folder: string, scene: Scene) {
    this.#folder = folder
    this.#scene = scene
    this.file = join(folder, 'records-sync.yaml')
    this.write()
  }

  get key(): string {
    return this.#key
  }

  /** As it was at first. */
  restore(key: string): void {
    this.#service = 'https://crm.example'
    this.#key = key
    this.#edits.clear()
    this.write()
  }

  setKey(key: string): void {
    this.#key = key
    this.write()
  }

  /** Unless the configuration names another service by now, with a key of its own. */
  setKeyOfCrm(key: string): void {
    if (this.#key !== KEYS.elsewhere) this.setKey(key)
  }

  /** Address and key change together. */
  setService(service: string, key: string): void {
    this.#service = service
    this.#key = key
    this.write()
  }

  edit(sync: string, settings: Json): void {
    this.#edits.set(sync, settings)
    this.write()
  }

  #scheduleOf({ name, everySeconds }: SyncScene): Json {
    const seconds = this.#every.get(name) ?? everySeconds
    return seconds === null ? {} : { schedule: { every: `${seconds} seconds` } }
  }

  /** When its runs begin; the server is not told. */
  setEvery(sync: string, seconds: number): void {
    this.#every.set(sync, seconds)
    this.write()
  }

  /** What a run of a sync reads of its table. */
  setQuery(sync: string, query: QueryScene): void {
    this.#queries.set(sync, query)
    this.write()
  }

  /** Of warehouses, those that there are. */
  #warehouses(): Json {
    const { mirror, syncs } = this.#scene
    const postgres = { file: './database-url' }
    const places = {
      ...(mirror && {
        dwh: mirror.warehouse === 'postgres' ? { postgres } : { duckdb: './dwh.duckdb' },
      }),
      ...(syncs.some(({ query }) => query !== null) && { [QUERIED]: { duckdb: ':memory:' } }),
    }
    return Object.keys(places).length === 0 ? {} : { warehouses: places }
  }

  #importOf(sync: SyncScene): Json {
    const query = this.#queries.get(sync.name) ?? sync.query
    return importOf({ ...sync, query }, this.#edits.get(sync.name) ?? {})
  }

  write(): void {
    const { mirror, copies, ledger } = this.#scene
    const postgres = { file: './database-url' }
    const config = {
      connections: { crm: { service: this.#service, key: { file: './crm.key' } } },
      ledger: ledger === 'postgres' ? { postgres, schema: LEDGER_SCHEMA } : './ledger.db',
      ...this.#warehouses(),
      syncs: {
        ...Object.fromEntries(
          this.#scene.syncs.map((sync) => [
            sync.name,
            {
              import: this.#importOf(sync),
              ...this.#scheduleOf(sync),
            },
          ]),
        ),
        ...(copies && { [COPIES]: { import: copiesOf(copies) } }),
        ...(mirror && { [MIRROR]: { mirror: mirrorOf(mirror) } }),
      },
    }
    this.#put(join(this.#folder, 'crm.key'), `${this.#key}\n`)
    if (isOnPostgres(this.#scene))
      this.#put(join(this.#folder, 'database-url'), `${DATABASE_URL}\n`)
    this.#put(this.file, `${JSON.stringify(config, null, 1)}\n`)
  }

  #put(path: string, text: string): void {
    writeFileSync(`${path}.new`, text)
    chmodSync(`${path}.new`, 0o600)
    renameSync(`${path}.new`, path)
  }
}
