// What a project keeps: its files and who may read them, its ledger, its warehouses, each with the version of its engine.

import { accessSync, constants, existsSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import { readLedgerPlace, readWarehousePlace, type Config } from '../../../config/index.ts'
import { Blocked } from '../../core/errors.ts'
import { countText } from '../../core/format.ts'
import { stateDirOf } from '../../dev/parts.ts'
import { ledgerEngine } from '../../ledger/open.ts'
import { loadWarehouse, openWarehouse, POSTGRES_MIN, warehouseOf } from '../../warehouses/index.ts'
import type { Warehouse } from '../../warehouses/warehouse.ts'
import { checkLedger } from './check-ledger.ts'
import type { CommandContext } from '../shared/context.ts'
import { findExposedFiles } from '../shared/private-files.ts'
import { safeText } from '../shared/terminal.ts'
import { finding, fine, ownMessage, type DoctorFinding, type Probe } from './findings.ts'

/** So long a warehouse that another process has open is waited for. */
const WAREHOUSE_WAIT_MS = 3_000

/** Whether this user may write where a project keeps what is its own, and whether others may read it. */
export function filesFinding(context: CommandContext, config: Config): DoctorFinding {
  const subject = 'files'
  const state = stateDirOf(config.file)
  const folder = existsSync(state) ? state : dirname(state)
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch {
    return finding(
      'failed',
      subject,
      `this user may not write ${folder}`,
      `Make it yours: chown $(id -un) ${folder} && chmod u+rwx ${folder}; or name another place with "ledger:"`,
    )
  }
  const open = findExposedFiles(config)
  if (open.length === 0) return fine(subject, 'ledger, quota, keys and mirrors are yours alone')
  const names = open.map(({ path, mode }) => `${relative(dirname(config.file), path)} (${mode})`)
  return finding(
    'warning',
    subject,
    `other users of this machine may read ${countText(open.length, 'file or folder', 'files and folders')} with rows or keys, such as ${safeText(names[0]!, 200)}`,
    context.hint('check --fix-permissions'),
  )
}

export const ledgerProbe = (context: CommandContext, config: Config): Probe => ({
  subject: 'ledger',
  late: 'See whether another process holds it, or whether its server answers',
  look: async () => {
    const { message } = await checkLedger(context, config)
    const place = await readLedgerPlace(config.ledger, context.env)
    const { engine, min } = await ledgerEngine(place)
    return [fine('ledger', `${message}; ${engine} (${min} or newer)`)]
  },
})

/** Of every warehouse of the configuration. */
export const warehouseProbes = (context: CommandContext, config: Config): Probe[] =>
  Object.keys(config.warehouses).map((name) => ({
    subject: `warehouse ${name}`,
    late: 'See whether its server answers, or whether another process holds its file',
    look: async (signal) => [await warehouseFinding(context, config, name, signal)],
  }))

async function warehouseFinding(
  context: CommandContext,
  config: Config,
  name: string,
  signal: AbortSignal,
): Promise<DoctorFinding> {
  const subject = `warehouse ${name}`
  const settings = config.warehouses[name]!
  const file = warehouseOf(settings).file(settings)
  try {
    await loadWarehouse(settings)
    if (file !== null && !existsSync(file.path))
      return existsSync(dirname(file.path))
        ? fine(subject, `${relative(dirname(config.file), file.path)}; the first mirror makes it`)
        : finding(
            'failed',
            subject,
            `there is no folder ${dirname(file.path)}`,
            'Make it: mkdir -p',
          )
    const place = await readWarehousePlace(config, name, context.env)
    const warehouse = await openWarehouse(name, place, { waitMs: WAREHOUSE_WAIT_MS, signal })
    try {
      return engineFinding(subject, warehouse.place, await versionOf(warehouse, signal))
    } finally {
      await warehouse.close()
    }
  } catch (error) {
    if (error instanceof Blocked)
      return finding('failed', subject, ownMessage(error).replace(/^blocked: \w+: /, ''))
    throw error
  }
}

/** As the database says it: `PostgreSQL 15.3 on x86_64…`, `v1.5.5`. */
async function versionOf(warehouse: Warehouse, signal: AbortSignal): Promise<string> {
  const reading = await warehouse.read('SELECT version() AS version', { signal, rowsMax: 1 })
  for await (const [row] of reading.chunks(1)) return safeText(String(row?.[0] ?? ''), 60)
  return ''
}

/** @param version as the database says it */
export function engineFinding(subject: string, place: string, version: string): DoctorFinding {
  const [, postgres] = /^PostgreSQL ([\d.]+)/.exec(version) ?? []
  if (postgres === undefined) return fine(subject, `${place}; DuckDB ${version.replace(/^v/, '')}`)
  const text = `${place}; PostgreSQL ${postgres} (${POSTGRES_MIN} or newer)`
  if (Number.parseInt(postgres, 10) >= POSTGRES_MIN) return fine(subject, text)
  return finding(
    'failed',
    subject,
    text,
    `Upgrade that server to PostgreSQL ${POSTGRES_MIN} or newer`,
  )
}
