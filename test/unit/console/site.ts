// A console over a real ledger with runs of every kind, for its tests.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../../../config/index.ts'
import { startConsole, type ConsoleParts } from '../../../src/console/index.ts'
import { LedgerError } from '../../../src/core/errors.ts'
import { silentLogger, type Logger } from '../../../src/core/ports.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { LedgerWatch, openLedger, openQuotaStore } from '../../../src/ledger/open.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import * as scenes from '../report/scenes.ts'
import { plannedImport } from './planned.ts'
import { fillQuotaHour, type HourOptions } from './quota-hour.ts'

/** Syncs with runs of every kind. The properties are those of the scenes. */
export const CONSOLE_CONFIG = `
ledger: ./ledger.db
temporal: { address: "127.0.0.1:9" }
connections:
  crm: { service: "http://127.0.0.1:9", key: "\${CRM_KEY}" }
warehouses:
  lake: { duckdb: ./lake.duckdb }
syncs:
${['companies', 'contacts', 'deals', 'invoices', 'offers', 'tickets']
  .map(
    (name) => `  ${name}:
    import:
      from: { csv: ./${name}.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      properties:
        svc_external_id: id
        svc_email: { column: Mail }
        svc_source: { value: web }
    schedule: ${name === 'deals' ? '0 6 * * 1-5' : 'every 15 minutes'}`,
  )
  .join('\n')}
  crm_copy:
    mirror: { from: crm, to: lake }
  orders:
    mirror: { from: crm, to: lake, schema: orders }
`

export interface ConsoleSite {
  readonly folder: string
  readonly url: string
  readonly port: number
  readonly ledger: Ledger
  /** Runs by what they are. */
  readonly runs: Readonly<Record<string, number>>
  /** What is away now, or wrong: a test changes it. */
  readonly away: { ledger: boolean; temporal: boolean; config: boolean }
  close(): Promise<void>
}

const names = (sync: string, more: Partial<scenes.Names> = {}): scenes.Names => ({
  ...scenes.plainNames,
  sync,
  ...more,
})

/** Runs of every kind, each in a sync of its own. */
export async function fillLedger(
  ledger: Ledger,
  more: Partial<scenes.Names> = {},
): Promise<Record<string, number>> {
  const of = (sync: string) => names(sync, more)
  const equal = await scenes.equalImport(ledger, of('companies'))
  for (let count = 0; count < 12; count++) await scenes.largeImport(ledger, of('companies'))
  const rejects = await scenes.importWithRejects(ledger, of('contacts'))
  const retry = await scenes.retry(ledger, rejects, of('contacts'))
  const compared = await scenes.reconciledImport(ledger, { repair: true }, of('contacts'))
  const again = await scenes.importWithRejects(ledger, of('contacts'))
  return {
    equal,
    rejects,
    retry,
    compared,
    again,
    live: await scenes.liveImport(ledger, of('deals')),
    blocked: await scenes.blockedImport(ledger, 'auth', of('invoices')),
    approval: await scenes.blockedImport(ledger, 'approval', of('tickets')),
    planned: await plannedImport(ledger, {
      sync: 'offers',
      rows: 120,
      lookedUp: 100,
      ...(more.message !== undefined && { text: more.message }),
    }),
    mirror: await scenes.mirror(ledger, of('crm_copy')),
    'compared mirror': await scenes.reconciledMirror(ledger, {}, of('crm_copy')),
  }
}

export async function openSite(
  options: {
    readonly fill?: (ledger: Ledger) => Promise<Record<string, number>>
    readonly config?: string
    readonly parts?: Partial<ConsoleParts>
    readonly logger?: Logger
    readonly clock?: { now(): number }
    /** An hour of requests in the quota; default: nothing is known of one. */
    readonly quota?: HourOptions
    /** Wraps the ledger that the console reads. */
    readonly seen?: (ledger: Ledger) => Ledger
  } = {},
): Promise<ConsoleSite> {
  const {
    fill = fillLedger,
    config = CONSOLE_CONFIG,
    parts = {},
    logger = silentLogger,
    clock,
  } = options
  const { seen = (ledger) => ledger, quota } = options
  const folder = await mkdtemp(join(tmpdir(), 'records-sync-console-'))
  const file = join(folder, 'records-sync.yaml')
  await writeFile(file, config)
  const ledger = openSqliteLedger(join(folder, 'ledger.db'))
  const runs = await fill(ledger)
  if (quota !== undefined) {
    const store = await openQuotaStore({ sqlite: join(folder, 'ledger.db') })
    await fillQuotaHour(store, quota)
    await store.close()
  }
  const away = { ledger: false, temporal: false, config: false }
  const running = await startConsole({
    parts: { ...consoleParts(folder, file, away, seen), ...parts },
    host: '127.0.0.1',
    port: 0,
    logger,
    ...(clock && { clock }),
  })
  return {
    folder,
    url: running.url,
    port: running.port,
    ledger,
    runs,
    away,
    async close() {
      await running.close()
      await ledger.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function consoleParts(
  folder: string,
  file: string,
  away: ConsoleSite['away'],
  seen: (ledger: Ledger) => Ledger,
): ConsoleParts {
  const place = { sqlite: join(folder, 'ledger.db') }
  const watch = new LedgerWatch()
  return {
    async loadConfig() {
      return await loadConfig(away.config ? join(folder, 'missing.yaml') : file, {})
    },
    async openLedger() {
      if (away.ledger) throw unreachable()
      return seen(awayWhen(await openLedger(place, { readOnly: true, watch }), away))
    },
    openQuotas: () => openQuotaStore(place),
    async readSchedules({ syncs }) {
      if (away.temporal) return { views: null, unknown: 'No Temporal server answers' }
      const times = [1, 2, 3, 4, 5].map((at) => new Date(Date.now() + at * 900_000 - 500_000))
      const state = { state: 'active', note: null, next: times[0]!, times } as const
      const views = Object.values(syncs).flatMap(({ name, schedule }) =>
        schedule === undefined ? [] : [[name, { ...state, when: 'every 15 minutes' }] as const],
      )
      return { views: new Map(views), unknown: null }
    },
    workOn: async () => ({ idle: null, held: new Map() }),
    uiOf: () => ({ ui: 'http://127.0.0.1:8233', namespace: 'default' }),
    place: actionPlace(file, place, away, watch),
    user: 'anna@desk',
    hint: (command) => `records-sync ${command}`,
  }
}

/** As the context of a command: it writes to the ledger, unless that is away. */
function actionPlace(
  file: string,
  ledger: { readonly sqlite: string },
  away: ConsoleSite['away'],
  watch: LedgerWatch,
): ConsoleParts['place'] {
  const open = async (readOnly = true) => {
    if (away.ledger) throw unreachable()
    return awayWhen(await openLedger(ledger, { readOnly, watch }), away)
  }
  return {
    configFile: file,
    env: {},
    terminal: { err: () => {} },
    hint: (command) => `records-sync ${command}`,
    loadConfig: () => loadConfig(file, {}),
    openLedger: (options) => open(options?.readOnly),
    findLedger: () => open(),
    openQuotas: () => openQuotaStore(ledger),
  }
}

const unreachable = () =>
  new LedgerError('ledger_unreachable', 'The ledger’s server does not answer')

/** A ledger that fails while it is away, as one whose server is gone. */
const awayWhen = (ledger: Ledger, away: ConsoleSite['away']): Ledger =>
  new Proxy(ledger, {
    get(target, name) {
      const method = target[name as keyof Ledger] as unknown
      if (typeof method !== 'function' || name === 'close') return method
      return async (...values: unknown[]) => {
        if (away.ledger) throw unreachable()
        return await (method as (...of: unknown[]) => unknown).apply(target, values)
      }
    },
  })
