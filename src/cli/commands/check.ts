// `records-sync check`: is everything as the configuration says? It only reads, but for `--fix-permissions`; its requests count
// in the quota that all processes share.

import { existsSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import {
  placedMapping,
  placedService,
  readWarehousePlace,
  type Config,
  type MirrorSync,
} from '../../../config/index.ts'
import { deprecationText, type AnnouncedEnd } from '../../client/deprecation.ts'
import type { RecordsClient } from '../../client/index.ts'
import { SyncError } from '../../core/errors.ts'
import { systemClock } from '../../core/ports.ts'
import { saveSchema, savedSchemaPath, type ReadSchema } from '../../mapping-tests/index.ts'
import { readWebhookCa, readWebhookUrl } from '../../monitoring/webhook.ts'
import { proxyFor, throughText } from '../../outbound/proxy.ts'
import { sourceOf } from '../../sources/index.ts'
import { loadWarehouse, openWarehouse, warehouseOf } from '../../warehouses/index.ts'
import { afterText, groupFindings } from './check-groups.ts'
import { checkLedger } from '../doctor/check-ledger.ts'
import { checkImport, type CheckFindings, type ImportsRead } from './check-import.ts'
import { quotaConflicts } from './check-shared.ts'
import { createClients, EXIT, ownWordsLines, type CommandContext } from '../shared/context.ts'
import { problemsOf } from '../shared/error-lines.ts'
import { findQuotas } from '../shared/forecast.ts'
import { readMirrorTarget } from '../shared/mirror-target.ts'
import { restrictFiles, findExposedFiles } from '../shared/private-files.ts'
import { printFirstRows, type ShownRow } from '../views/first-rows.ts'
import { operationLines, operationRows } from '../views/operations.ts'
import { countText, printWrapped, safeText, type Terminal } from '../shared/terminal.ts'
import { printJson } from '../json.ts'

interface Finding extends CheckFindings {
  readonly subject: string
  readonly ok: boolean
  readonly warnings: readonly string[]
  /** The database's own message, for a person at the terminal alone. */
  readonly ownWords?: readonly string[]
  /** Of several problems: the subject and each problem, instead of the message. Not in JSON. */
  readonly problems?: readonly string[] | null
}

const indent = 8
const connectionSubject = (name: string) => `connection ${name}`
/** How long a warehouse that another process holds is waited for. */
const WAREHOUSE_WAIT_MS = 5_000

/** What a mirror finds on its service, and whether its warehouse can be opened. */
async function checkMirror(
  context: CommandContext,
  config: Config,
  sync: MirrorSync,
  client: RecordsClient,
): Promise<CheckFindings> {
  const { types, associations, warnings } = await readMirrorTarget(client, sync)
  const { to, schema } = sync.mirror
  const file = warehouseOf(config.warehouses[to]!).file(config.warehouses[to]!)
  const missing = file !== null && !existsSync(file.path)
  if (missing) {
    await loadWarehouse(config.warehouses[to]!)
    const folder = dirname(file.path)
    if (!existsSync(folder))
      throw new SyncError('warehouse_folder', `Warehouse ${to}: there is no folder ${folder}`)
  } else {
    const place = await readWarehousePlace(config, to, context.env)
    const warehouse = await openWarehouse(to, place, { waitMs: WAREHOUSE_WAIT_MS })
    await warehouse.close()
  }
  const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`
  const links = associations.length > 0 ? ` and ${counted(associations.length, 'association')}` : ''
  return {
    message: `${counted(types.length, 'object type')}${links} of ${sync.mirror.from}, into ${to}, schema ${schema}${missing ? '; the file is made by the first run' : ''}`,
    warnings,
  }
}

/** The warehouses that queries of imports read, and whose rights can be known. */
const queried = ({ syncs, warehouses }: Config): string[] => {
  const names = Object.values(syncs).flatMap((sync) => {
    if (sync.kind !== 'import') return []
    const { from } = sync.import
    return sourceOf(from).warehouse(from) ?? []
  })
  return [...new Set(names)].filter((name) => warehouseOf(warehouses[name]!).rights !== undefined)
}

/** Whether queries may do more than read. */
async function checkRights(
  context: CommandContext,
  config: Config,
  name: string,
): Promise<CheckFindings> {
  const place = await readWarehousePlace(config, name, context.env)
  const warehouse = await openWarehouse(name, place, { waitMs: WAREHOUSE_WAIT_MS })
  try {
    const warnings = await warehouseOf(place).rights!(warehouse)
    return { message: warehouse.place, warnings }
  } finally {
    await warehouse.close()
  }
}

/** Of files that hold rows: those that other users of the machine may read; `fixes`: takes their rights away. */
function permissionFindings(config: Config, fixes: boolean, context: CommandContext): Finding[] {
  const open = findExposedFiles(config)
  if (open.length === 0) return []
  const named = (files: typeof open) =>
    files.map(({ path, mode }) => `${relative(dirname(config.file), path) || path} (${mode})`)
  const subject = 'permissions'
  if (!fixes)
    return [
      {
        subject,
        ok: true,
        message: 'other users of this machine may read what holds rows',
        warnings: [
          ...shortList(named(open)),
          `expected 600, and 700 for folders; ${context.hint('check --fix-permissions')} makes them so`,
        ],
      },
    ]
  const left = restrictFiles(open)
  const done = open.length - left.length
  const message = `${done} of ${countText(open.length, 'file or folder', 'files and folders')} ${done === 1 ? 'is its' : 'are their'} owner's alone now`
  return [{ subject, ok: left.length === 0, message, warnings: shortList(named(left)) }]
}

const LISTED_MAX = 10

const shortList = (names: readonly string[]): string[] => {
  const more = names.length - LISTED_MAX
  return more > 0 ? [...names.slice(0, LISTED_MAX), `and ${more} more`] : [...names]
}

interface CheckOptions {
  /** Lists all operations, not only what is unusual. */
  readonly operations: boolean
  readonly fixPermissions?: boolean
  /** A file; true: the usual one. */
  readonly saveSchema?: string | boolean
  /** Rows of each source that are shown with their values. */
  readonly rows?: number
  /** How long the query over a file may take, ms. */
  readonly queryMs?: number
}

const QUERY_MS = 60_000

/** What the syncs are checked with, and what is read meanwhile. */
type Checking = ImportsRead & { readonly findings: Findings }

export async function check(context: CommandContext, options: CheckOptions): Promise<number> {
  const rowsWanted = options.rows ?? 0
  const config = await context.loadConfig()
  const findings = new Findings(context)
  const read: ReadSchema[] = []
  const rows: ShownRow[] = []
  const { queryMs = QUERY_MS } = options
  await checkServices(context, config, { findings, read, rowsWanted, rows, queryMs })
  const { saveSchema = false } = options
  if (saveSchema !== false)
    await findings.examine('schema', async () =>
      keepSchema(context, config, { read, file: saveSchema === true ? null : saveSchema }),
    )
  for (const [name, { url, ca }] of Object.entries(config.notifications))
    await findings.examine(`notification ${name}`, async () => {
      const { origin } = await readWebhookUrl(url, context.env)
      await readWebhookCa(ca)
      const through = throughText(proxyFor(origin, context.env))
      return {
        message: `its URL can be read${through && `; it is reached${through}`}; ${context.hint(`notify ${name}`)} sends a test message`,
      }
    })
  await findings.examine('ledger', () => checkLedger(context, config))
  findings.all.push(...permissionFindings(config, options.fixPermissions ?? false, context))
  const ok = findings.all.every((finding) => finding.ok)
  if (context.json)
    printJson(context.terminal, {
      ok,
      findings: findings.all.map(findingToJson),
      ...(rowsWanted > 0 && { first_rows: rows }),
    })
  else {
    for (const finding of findings.all) printFinding(context.terminal, finding, options.operations)
    printFirstRows(context.terminal, rows)
  }
  if (ok) return EXIT.done
  const isOfRows = (finding: Finding) => finding.ok || finding.isMostlyInvalid === true
  return findings.all.every(isOfRows) ? EXIT.rejects : EXIT.usage
}

/** Writes what was read for the tests of mappings. @throws SyncError if it is not that of every import: a file that was there stays */
async function keepSchema(
  { configFile }: CommandContext,
  { syncs }: Config,
  { read, file }: { readonly read: readonly ReadSchema[]; readonly file: string | null },
): Promise<CheckFindings> {
  const imports = Object.values(syncs).filter(({ kind }) => kind === 'import')
  const missing = imports.filter(({ name }) => !read.some(({ sync }) => sync.name === name))
  if (missing.length > 0)
    throw new SyncError(
      'schema_not_read',
      `not saved, because source or service of ${missing.map(({ name }) => name).join(', ')} could not be read, see above`,
    )
  if (imports.length === 0)
    throw new SyncError('schema_not_read', 'not saved: no sync is an import')
  const place = file === null ? savedSchemaPath(configFile) : resolve(file)
  saveSchema(place, read, new Date(systemClock.now()).toISOString())
  const types = new Set(read.map(({ sync }) => `${sync.import.to} ${sync.import.object_type}`))
  return {
    message: `saved for the tests of mappings: ${countText(types.size, 'object type')} of ${countText(read.length, 'import')}, in ${place}`,
  }
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

function findingToJson({ subject, ok, message, warnings, operations }: Finding) {
  return { subject, ok, warnings, message, ...(operations && { operations }) }
}

class Findings {
  readonly all: Finding[] = []
  readonly #context: CommandContext

  constructor(context: CommandContext) {
    this.#context = context
  }

  async examine(subject: string, work: () => Promise<CheckFindings>): Promise<void> {
    const { configFile, env, json, terminal } = this.#context
    try {
      const found = await work()
      this.all.push({ subject, ok: found.isMostlyInvalid !== true, warnings: [], ...found })
    } catch (caught) {
      const all = caught instanceof AggregateError ? (caught.errors as unknown[]) : [caught]
      const errors = await Promise.all(all.map((one) => placedMapping(one, configFile, env)))
      const lines = errors.flatMap((error) => problemsOf(error) ?? [messageOf(error)])
      this.all.push({
        subject,
        ok: false,
        message: errors.map(messageOf).join('; '),
        warnings: [],
        ...(json
          ? {}
          : {
              ownWords: errors.flatMap((error) => ownWordsLines(error, terminal)),
              problems: lines.length > 1 ? lines : null,
            }),
      })
    }
  }

  isOk(subject: string): boolean {
    return this.all.find((finding) => finding.subject === subject)!.ok
  }
}

/** Connections, then the warehouses of queries, then the syncs, then the groups. */
async function checkServices(
  context: CommandContext,
  config: Config,
  checking: Checking,
): Promise<void> {
  const { findings } = checking
  const quotas = await findQuotas(context)
  const { connect, close, deprecation } = await createClients(context, 'check', quotas)
  /** The first connection of each org. */
  const firstOf = new Map<string, string>()
  try {
    for (const name of Object.keys(config.connections))
      await findings.examine(connectionSubject(name), async () =>
        connect(name)
          .then((found) =>
            checkConnection(context, config, name, { ...found, firstOf, deprecation }),
          )
          .catch(async (error: unknown) => {
            throw await placedService(error, name, context.configFile, context.env)
          }),
      )
    for (const name of queried(config))
      await findings.examine(`warehouse ${name}`, async () => checkRights(context, config, name))
    /** What is wrong with a connection is reported once, not for each of its syncs. */
    const clientOf = async (name: string) => {
      if (findings.isOk(connectionSubject(name))) return (await connect(name)).client
      throw new SyncError(
        'connection_failed',
        `not checked at the service: connection ${name} failed, see above`,
      )
    }
    for (const sync of Object.values(config.syncs))
      await findings.examine(`sync ${sync.name}`, async () => {
        const found =
          sync.kind === 'mirror'
            ? await checkMirror(context, config, sync, await clientOf(sync.mirror.from))
            : await checkImport(context, config, sync, { connect, clientOf, checking })
        return { ...found, message: found.message + afterText(sync) }
      })
    for (const group of Object.values(config.groups))
      await findings.examine(`group ${group.name}`, async () => groupFindings(config, group))
  } finally {
    await close()
    await quotas?.close()
  }
}

type Connect = Awaited<ReturnType<typeof createClients>>['connect']

async function checkConnection(
  { env }: CommandContext,
  config: Config,
  name: string,
  {
    client,
    keyFingerprint,
    firstOf,
    deprecation,
  }: Awaited<ReturnType<Connect>> & {
    readonly firstOf: Map<string, string>
    readonly deprecation: (name: string) => AnnouncedEnd | null
  },
): Promise<CheckFindings> {
  const self = await client.readSelf()
  const types = await client.listObjectTypes()
  const resolution = await client.resolution()
  const announced = deprecation(name)
  return {
    message: `${client.origin}${throughText(proxyFor(client.origin, env))}, org ${self.org_id}, key#${keyFingerprint}, reach ${self.reach}, ${types.length} object types`,
    warnings: [
      ...resolution.warnings,
      ...(announced ? [deprecationText(announced, systemClock.now())] : []),
      ...quotaConflicts(config, name, `${client.origin} org ${self.org_id}`, firstOf),
    ],
    operations: operationRows(resolution),
  }
}

function printFinding(terminal: Terminal, finding: Finding, allOperations: boolean): void {
  const { subject, ok, message, warnings, operations = [], ownWords = [] } = finding
  const state = ok ? terminal.style('green', 'ok    ') : terminal.style('red', 'failed')
  const [head = message, ...problems] = finding.problems ?? []
  printWrapped(terminal, `${subject}: ${safeText(head, 4_000)}`, { indent, head: `${state}  ` })
  for (const problem of problems) printWrapped(terminal, safeText(problem, 4_000), { indent })
  for (const line of ownWords) terminal.out(`${' '.repeat(indent)}${line.slice(2)}`)
  for (const line of operationLines(operations, allOperations)) terminal.out(line)
  for (const warning of warnings)
    printWrapped(terminal, `warning: ${safeText(warning, 1_000)}`, { indent, style: 'yellow' })
}
