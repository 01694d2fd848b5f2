// Runs of a mirror by its activities, whose key may be replaced at any moment. The service, the ledger and the tables are real.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { mirrorActivities, type MirrorActivities } from '../../../activities/mirror.ts'
import { RecordsClient } from '../../../src/client/index.ts'
import { silentLogger, systemClock } from '../../../src/core/ports.ts'
import type { MirrorConfig, MirrorSync } from '../../../config/index.ts'
import type { Window } from '../../../src/core/domain/watermark.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import type { StreamBooks } from '../../../src/ledger/ledger.ts'
import type {
  DeletionVerdict,
  DiscoveredStreams,
  MirrorClient,
  StreamResult,
} from '../../../src/mirror/index.ts'
import { startService } from '../../../src/service/index.ts'
import { openMirrorTables } from '../../../src/warehouses/index.ts'
import { mirrorSync } from '../../mirror-sync.ts'
import { startPostgres } from '../../postgres.ts'
import { environment, openMirrorRun } from './scene.ts'

export const CONTACT = 'svc_contact'
export const COMPANY = 'svc_company'
export const LINK = 'svc_contact_company'
export const read = { read: true, write: false }
const person = (id: string) => ({ id, displayName: id, admin: false, permissions: 'all' as const })

export async function sightScene(more: Partial<MirrorConfig> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-sight-'))
  const service = await startService({ users: [person('ada'), person('ben')] })
  const keys = { inFile: service.key }
  const client = new RecordsClient({ baseUrl: service.url, key: () => keys.inFile, retries: 0 })
  const ada = new RecordsClient({
    baseUrl: service.url,
    key: service.mintKey({ userId: 'ada' }),
  })
  const ben = new RecordsClient({
    baseUrl: service.url,
    key: service.mintKey({ userId: 'ben' }),
  })
  const ledger = openSqliteLedger(join(folder, 'ledger.db'))
  const postgres = await startPostgres()
  const place = { postgres: await postgres.newDatabase(), folder }
  onTestFinished(async () => {
    await Promise.all([client.close(), ada.close(), ben.close()])
    await service.close()
    await ledger.close()
    await postgres.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const sync = mirrorSync('copy', {
    object_types: [CONTACT, COMPANY],
    overlap_seconds: 60,
    ...more,
  })
  /** Called before each operation of the client that a mirror uses. */
  const hooks: {
    before: (operation: string) => void
    self: (self: object) => object
    /** Called before each page of a listing. */
    page: () => void
  } = {
    before: () => {},
    self: (self) => self,
    page: () => {},
  }
  async function* pagesOf(pages: AsyncIterable<unknown>) {
    for await (const page of pages) {
      hooks.page()
      yield page
    }
  }
  const hooked = (of: RecordsClient): MirrorClient =>
    new Proxy(of, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        return (...args: unknown[]): unknown => {
          hooks.before(String(name))
          const result: unknown = Reflect.apply(value, target, args)
          if (name === 'recordPages') return pagesOf(result as AsyncIterable<unknown>)
          if (name !== 'readSelf') return result
          return (result as Promise<object>).then((self) => hooks.self(self))
        }
      },
    })
  const activities: MirrorActivities = mirrorActivities({
    ledger,
    clock: systemClock,
    logger: silentLogger,
    loadSync: async () => sync,
    isLive: async () => true,
    connect: async (_, home, sight) => {
      await client.renewKey()
      return {
        client: hooked(home === null ? client : client.forHome(home, sight)),
        keyFingerprint: await client.keyFingerprint(),
      }
    },
    openMirrorTables: async () => await openMirrorTables('lake', place, 'crm'),
    watch: { changed: async () => {} },
  })

  /**
   * The whole run; an activity that fails for the moment is tried again once `mend` was called. `approved`: what a person says
   * where deletions wait.
   */
  async function run(
    mend: () => void = () => {},
    {
      full = true,
      approved = null,
      config = {},
      window = null,
    }: {
      full?: boolean
      approved?: boolean | null
      config?: Partial<MirrorConfig>
      window?: Window | null
    } = {},
  ) {
    const run: MirrorSync = { ...sync, mirror: { ...sync.mirror, ...config } }
    const id = await openMirrorRun(ledger, run)
    const step = { run: id, tuning: {}, priority: 'mirror' as const }
    const { discoverMirror, mirrorStream, noteVerdict, closeMirror } = activities
    const discovering: Parameters<typeof discoverMirror>[0] = { ...step, window }
    const found: DiscoveredStreams = await environment().run(discoverMirror, discovering)
    const { streams, sortable, sight = null } = found
    const blocks: { reason: string | null; message: string | null }[] = []
    const asked: { stream: string; rows: number; of: number; message: string | null }[] = []
    for (const stream of streams) {
      let verdict: DeletionVerdict | null = null
      for (let attempt = 0; attempt < 10; attempt++) {
        const input: Parameters<typeof mirrorStream>[0] = {
          ...step,
          sight,
          stream,
          sortable,
          full,
          window,
          verdict,
        }
        const streaming: Promise<StreamResult> = environment().run(mirrorStream, input)
        const result = await streaming.catch(async (error: { nonRetryable?: boolean }) => {
          const { state, reason, message } = (await ledger.run(id))!
          if (state === 'blocked') blocks.push({ reason, message })
          if (error.nonRetryable === true) return { state: 'done' } as StreamResult
          mend()
          return { state: 'again' } as StreamResult
        })
        if (result.state === 'done') break
        if (result.state !== 'approval') continue
        const { reason, message } = (await ledger.run(id))!
        if (reason !== 'approval') throw new Error(`waits for approval, and is blocked: ${reason}`)
        const { rows, of } = result
        asked.push({ stream: `${stream.kind} ${stream.name}`, rows, of, message })
        // Nobody answers within the time.
        verdict = { approved: approved ?? false, rows }
        const noting: Parameters<typeof noteVerdict>[0] = {
          ...step,
          stream,
          approved: verdict.approved,
        }
        await environment().run(noteVerdict, noting)
      }
    }
    const closing: Parameters<typeof closeMirror>[0] = { ...step, ending: { kind: 'finished' } }
    const end: { state: string; message: string | null } = await environment().run(
      closeMirror,
      closing,
    )
    const books = await ledger.streams(id)
    const said: Record<string, StreamBooks> = Object.fromEntries(
      books.map((one) => [one.stream, one]),
    )
    return { ...end, blocks, asked, streams: said }
  }

  /** Rows that are there. */
  async function rows(name: string): Promise<number> {
    const tables = await openMirrorTables('lake', place, 'crm')
    try {
      const [stream] = await tables.streams([name])
      return (await tables.count(stream!)).rows
    } finally {
      await tables.close()
    }
  }

  /** Ids of the rows that are there, of the first 1,000. */
  async function listed(name: string): Promise<readonly string[]> {
    const tables = await openMirrorTables('lake', place, 'crm')
    try {
      const [stream] = await tables.streams([name])
      return await tables.ids(stream!, { after: null, limit: 1_000 })
    } finally {
      await tables.close()
    }
  }

  /** The value of a row's column. */
  async function cell(name: string, id: string, column: string) {
    const tables = await openMirrorTables('lake', place, 'crm')
    try {
      const [stream] = await tables.streams([name])
      const live = stream!.columns.filter((one) => one.live)
      const [row] = await tables.rows(stream!, [id])
      return row!.cells[live.findIndex((one) => one.name === column)]
    } finally {
      await tables.close()
    }
  }

  /** Ids of the records that the key in the file sees. */
  async function seen(name: string): Promise<readonly string[]> {
    await client.renewKey()
    const ids: string[] = []
    for await (const page of client.recordPages(name, {}))
      ids.push(...page.data.map(({ id }) => id))
    return ids.toSorted()
  }

  /** Puts another key in the file, once the operation is asked for the first time, and revokes the one that was there. */
  const replaceAt = (operation: string, options: Parameters<typeof service.mintKey>[0]) => {
    hooks.before = (name) => {
      if (name !== operation) return
      hooks.before = () => {}
      service.revokeKey(keys.inFile)
      keys.inFile = service.mintKey(options)
    }
  }
  const put = () => (keys.inFile = service.mintKey({ reach: 'org' }))
  /** Puts another key in the file between two runs, and revokes the one that was there. */
  const replace = (options: Parameters<typeof service.mintKey>[0]) => {
    service.revokeKey(keys.inFile)
    keys.inFile = service.mintKey(options)
  }
  return {
    service,
    client,
    ada,
    ben,
    hooks,
    sync,
    run,
    rows,
    listed,
    cell,
    seen,
    replaceAt,
    replace,
    put,
  }
}

export const create = async (client: RecordsClient, count: number, svc_private: boolean) => {
  const items = Array.from({ length: count }, (_, n) => ({
    properties: { svc_external_id: `${svc_private}-${n}`, svc_private },
  }))
  await client.batchUpsert(CONTACT, 'svc_external_id', { items })
}
