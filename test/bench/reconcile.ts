// Reconciliations measured. Of a mirror: requests and time against the full pull that made it, with a hundred differences planted
// in its warehouse, everywhere or in two places. Of an import: against the first run of the same rows. The service is the real
// one, in this process; every run is a process of its own.

import { execFile } from 'node:child_process'
import { createWriteStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual, promisify } from 'node:util'
import { DuckDBInstance } from '@duckdb/node-api'
import pg from 'pg'
import { RecordsClient } from '../../src/client/index.ts'
import { sumOfDifferences, type DifferenceCounts } from '../../src/core/domain/differences.ts'
import { WHOLE_SCOPE, type ReconcileScope } from '../../src/core/domain/purpose.ts'
import type { ImportSync } from '../../config/index.ts'
import { mirrorSync } from '../mirror-sync.ts'
import { startService, type RunningService } from '../../src/service/index.ts'
import type { MirrorPlace } from '../mirror-oracle.ts'
import { startPostgres } from '../postgres.ts'
import { WORKER_FLAGS } from './import-parts.ts'
import type { Ended, Job } from './sync-run.ts'

const PARTS = ['keys', 'duckdb', 'postgres'] as const
const CONTACT = 'svc_contact'
const DIFFERENCES = 100
const NONE: DifferenceCounts = { missing: 0, extra: 0, stale: 0, different: 0 }
const REPAIR: ReconcileScope = { ...WHOLE_SCOPE, repair: true }
const program = fileURLToPath(new URL('./sync-run.ts', import.meta.url))

/** What a run took; requests by what they are for. */
interface Measured extends Ended {
  readonly requests: number
  readonly counts: number
  readonly lists: number
  readonly reads: number
  readonly writes: number
}

/** Does a run, and counts what the service sees of it. */
async function measure(service: RunningService, job: Omit<Job, 'url' | 'key'>): Promise<Measured> {
  const before = service.stats()
  const { url, key } = service
  const file = `${job.ledger}.job`
  writeFileSync(file, JSON.stringify({ url, key, ...job } satisfies Job), { mode: 0o600 })
  const args = [...WORKER_FLAGS, '--import', 'tsx', program, file]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const { requests, byOperation } = service.stats()
  const of = (name: string) => (byOperation[name] ?? 0) - (before.byOperation[name] ?? 0)
  return {
    ...(JSON.parse(stdout) as Ended),
    requests: requests - before.requests,
    counts: of('aggregateRecords'),
    lists: of('queryRecords'),
    reads: of('readRecord'),
    writes: of('batchUpsert') + of('batchDelete'),
  }
}

/** What was measured of a sync, one line for each run, as shares of the first. */
class Lines {
  readonly #lines: Record<string, string | number>[] = []
  #first: Measured | undefined

  add(what: string, measured: Measured): void {
    const first = (this.#first ??= measured)
    const { requests, counts, lists, reads, writes, seconds, peakMb, found, left } = measured
    const differing = sumOfDifferences(found)
    console.error(`  ${what}: ${differing} found, ${requests} requests, ${seconds.toFixed(1)} s`)
    this.#lines.push({
      what,
      found: differing,
      left: sumOfDifferences(left),
      requests,
      counts,
      lists,
      reads,
      writes,
      of_requests: (requests / first.requests).toFixed(3),
      seconds: seconds.toFixed(1),
      of_time: (seconds / first.seconds).toFixed(2),
      peak_mb: peakMb,
    })
  }

  print(): void {
    console.table(this.#lines)
  }
}

/** Indexes of what differs: at equal distances, or side by side in two places. */
const PLACES: Readonly<Record<string, (all: number) => readonly number[]>> = {
  everywhere: (all) =>
    Array.from({ length: DIFFERENCES }, (_, turn) =>
      Math.floor(((turn + 0.5) * all) / DIFFERENCES),
    ),
  'in two places': (all) =>
    [all / 3, (2 * all) / 3].flatMap((first) =>
      Array.from({ length: DIFFERENCES / 2 }, (_, turn) => Math.floor(first) + turn),
    ),
}

/** Of every ten of them those with these numbers. */
const among = (places: readonly number[], turns: readonly number[]): number[] =>
  places.filter((_, turn) => turns.includes(turn % 10))

/** Runs SQL in a warehouse that nobody else has open. */
async function alter(place: MirrorPlace, sql: string): Promise<void> {
  if ('postgres' in place) {
    const person = new pg.Client({ connectionString: place.postgres })
    await person.connect()
    try {
      await person.query(sql)
    } finally {
      await person.end()
    }
    return
  }
  const instance = await DuckDBInstance.create(place.duckdb)
  const connection = await instance.connect()
  try {
    await connection.runAndReadAll(sql)
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

/** Of ten that differ four are of an older version, three are missing, and three are followed by one that is not there. */
async function plant(
  place: MirrorPlace,
  ids: (places: readonly number[]) => string,
  places: readonly number[],
): Promise<void> {
  const table = `crm.${CONTACT}`
  await alter(
    place,
    `UPDATE ${table} SET _version = _version - INTERVAL '1 hour', svc_job_title = 'Intern',
       svc_updated_at = svc_updated_at - INTERVAL '1 hour' WHERE _id IN (${ids(among(places, [0, 3, 5, 8]))});
     DELETE FROM ${table} WHERE _id IN (${ids(among(places, [1, 4, 7]))});
     CREATE TEMPORARY TABLE planted AS SELECT * FROM ${table} WHERE _id IN (${ids(among(places, [2, 6, 9]))});
     UPDATE planted SET _id = 'gone_' || _id;
     INSERT INTO ${table} SELECT * FROM planted`,
  )
}

const MIRROR = mirrorSync('crm_copy', { to: 'warehouse', object_types: [CONTACT] })

async function benchMirror(
  service: RunningService,
  place: MirrorPlace,
  ledger: string,
): Promise<Lines> {
  const records = service.records(CONTACT).map(({ id }) => id)
  const ids = (places: readonly number[]) => places.map((index) => `'${records[index]}'`).join()
  const lines = new Lines()
  lines.add('full pull', await measure(service, { ledger, sync: MIRROR, place, scope: null }))
  const reconcile = async (what: string, scope: ReconcileScope) => {
    lines.add(what, await measure(service, { ledger, sync: MIRROR, place, scope }))
  }
  await reconcile('nothing differs', WHOLE_SCOPE)
  for (const [name, places] of Object.entries(PLACES)) {
    await plant(place, ids, places(records.length))
    await reconcile(`100 ${name}`, WHOLE_SCOPE)
    await reconcile(`100 ${name}, repaired`, REPAIR)
    // What counting did not see.
    await reconcile('every record read, repaired', { ...REPAIR, full: true })
  }
  return lines
}

const COLUMNS = {
  svc_external_id: { column: 'id' },
  svc_first_name: { column: 'first_name' },
  svc_last_name: { column: 'last_name' },
  svc_job_title: { column: 'job_title' },
  svc_email: { column: 'email' },
  svc_website: { column: 'website' },
  svc_birthday: { column: 'born' },
  svc_score: { column: 'score' },
  svc_last_contacted_at: { column: 'contacted' },
  svc_notes: { column: 'notes' },
} as const

const externalId = (index: number): string => `K-${String(index).padStart(8, '0')}`

/** Writes the rows but those of `without`; those of `changed` have another title. */
async function writeRows(
  path: string,
  rows: number,
  { changed, without }: { changed: readonly number[]; without: readonly number[] },
): Promise<void> {
  const out = createWriteStream(path)
  const names = Object.values(COLUMNS).map(({ column }) => column)
  out.write(`${names.join(',')}\n`)
  for (let index = 0; index < rows; index++) {
    if (without.includes(index)) continue
    const title = changed.includes(index) ? 'Director' : 'Engineer'
    const day = String((index % 28) + 1).padStart(2, '0')
    const line = `${externalId(index)},First ${index},Last,${title},person${index}@example.com,https://example.com/${index},1980-01-${day},${index % 100},2026-01-${day}T08:00:00Z,"A note, about row ${index}"\n`
    if (!out.write(line)) await once(out, 'drain')
  }
  out.end()
  await once(out, 'finish')
}

async function benchKeys(
  service: RunningService,
  client: RecordsClient,
  folder: string,
  rows: number,
): Promise<Lines> {
  const csv = join(folder, 'contacts.csv')
  const sync: ImportSync = {
    name: 'contacts',
    kind: 'import',
    import: {
      from: { csv },
      to: 'crm',
      object_type: CONTACT,
      matching_property: 'svc_external_id',
      mode: 'upsert',
      empty: 'omit',
      verify: 'none',
      properties: COLUMNS,
    },
  }
  const ledger = join(folder, 'ledger.db')
  await writeRows(csv, rows, { changed: [], without: [] })
  const lines = new Lines()
  lines.add('first run', await measure(service, { ledger, sync, scope: null }))
  const reconcile = async (what: string, scope: ReconcileScope, expected: DifferenceCounts) => {
    const measured = await measure(service, { ledger, sync, scope })
    const { found, message } = measured
    if (!isDeepStrictEqual(found, expected))
      throw new Error(`${what}: ${JSON.stringify({ message, found, expected })}`)
    lines.add(what, measured)
  }
  await reconcile('nothing differs', WHOLE_SCOPE, NONE)

  // At the service somebody changes forty records and deletes twenty; in the source thirty rows change, and ten go.
  const places = PLACES['everywhere']!(rows)
  const idsOf = async (turns: readonly number[]) => {
    const value = among(places, turns).map(externalId)
    const filter = { property: 'svc_external_id', op: 'in', value } as const
    return (await client.queryRecords(CONTACT, { filter })).data.map(({ id }) => ({ id }))
  }
  const renamed = (await idsOf([0, 3, 5, 8])).map(({ id }) => ({
    id,
    properties: { svc_job_title: 'Head of Sales' },
  }))
  await client.batchUpdate(CONTACT, { items: renamed })
  await client.batchDelete(CONTACT, { items: await idsOf([1, 6]) })
  await writeRows(csv, rows, { changed: among(places, [2, 4, 7]), without: among(places, [9]) })
  const found = { missing: 20, extra: 10, stale: 30, different: 40 }
  await reconcile('100 everywhere', WHOLE_SCOPE, found)
  await reconcile('100 everywhere, repaired', { ...REPAIR, deleteExtra: true }, found)
  await reconcile('nothing differs any more', WHOLE_SCOPE, NONE)
  return lines
}

/** Measures and prints. `words` choose among the parts; none of them means all. */
export async function benchReconcile(options: {
  /** Records of the mirrors, where RECORDS_SYNC_BENCH_RECORDS names no other number. */
  readonly records: number
  /** Rows of the import. */
  readonly rows: number
  readonly words: readonly string[]
}): Promise<void> {
  const { rows, words } = options
  const records = Number(process.env['RECORDS_SYNC_BENCH_RECORDS'] ?? options.records)
  const isAll = !PARTS.some((part) => words.includes(part))
  for (const part of PARTS) {
    if (!isAll && !words.includes(part)) continue
    const folder = mkdtempSync(join(tmpdir(), 'records-sync-bench-'))
    const service = await startService({ seedRecords: part === 'keys' ? 0 : records })
    const client = new RecordsClient({ baseUrl: service.url, key: service.key })
    const postgres = part === 'postgres' ? await startPostgres() : null
    try {
      console.error(
        part === 'keys' ? `import of ${rows} rows` : `mirror of ${records} records into ${part}`,
      )
      const place = postgres
        ? { postgres: await postgres.newDatabase(), folder: '/' }
        : { duckdb: join(folder, 'warehouse.duckdb'), folder }
      const lines =
        part === 'keys'
          ? await benchKeys(service, client, folder, rows)
          : await benchMirror(service, place, join(folder, 'ledger.db'))
      lines.print()
    } finally {
      await client.close()
      await service.close()
      await postgres?.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
