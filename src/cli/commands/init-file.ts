// `records-sync init FILE`: a configuration for a CSV file and a service. It reads the first rows, asks the service what it has,
// proposes object type, key and mapping, explains each guess in a comment, and ends with a plan. Promises kept here: no file
// that exists is written, and nothing at the service; no key is in what it prints or writes, but for one that a person pastes for the
// key's own file.

import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import {
  draftConfig,
  findSync,
  type DraftImport,
  type ImportConfig,
} from '../../../config/index.ts'
import type { RecordsClient } from '../../client/index.ts'
import { ConfigError, SyncError } from '../../core/errors.ts'
import { compileMapping, proposeImport, type Proposal, type Target } from '../../import/index.ts'
import { startService } from '../../service/index.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import { forecast } from '../shared/forecast.ts'
import type { Asker } from '../shared/questions.ts'
import { safeText, wrapped } from '../shared/terminal.ts'
import { proposalLines, sampleText } from '../views/proposal.ts'
import { askProposal, askService, keyWish } from './init-questions.ts'
import { readCsvSample, type CsvSample } from './init-sample.ts'
import {
  DEV_PLACE,
  keyPlace,
  openClient,
  readTargets,
  resolvedKey,
  serviceUrl,
  settingPath,
  type ServicePlace,
} from './init-service.ts'
import { plan } from './plan.ts'
import { planImport } from './plan-import.ts'

export interface InitOptions {
  readonly service?: string
  readonly key?: string
  readonly objectType?: string
  /** `PROPERTY` or `PROPERTY=COLUMN` */
  readonly matchingProperty?: string
}

export interface InitParts {
  /** Of the caller: the configuration holds no secret, and may be for others too. */
  readonly umask: number
  /** Null: no question is asked. */
  readonly asker: Asker | null
}

/** @throws ConfigError if the configuration is there already, or an option is wrong; what reading file and service throws */
export async function initFromFile(
  context: CommandContext,
  file: string,
  options: InitOptions,
  { umask, asker }: InitParts,
): Promise<number> {
  const { terminal, configFile } = context
  requireNew(configFile, '; "-c other.yaml" writes another one, from which its sync can be copied')
  const say = (line: string) => terminal.err(line)
  const sample = await readCsvSample(file)
  const folder = dirname(configFile)
  const place = asker
    ? await askService(asker, say, options, folder)
    : placeOf(options, folder, context.env)
  const opened = await openService(context, place)
  try {
    const targets = await readTargets(opened.client, options.objectType, (line) => {
      if (terminal.isScreen) terminal.live(line)
    })
    terminal.endLive()
    const proposal = await decide(context, { file, sample, targets, options, asker })
    const draft = draftOf(context, { file, sample, place, proposal })
    const target = targets.find(({ schema }) => schema.name === proposal.objectType)!
    compileMapping(draft.sync, importOf(draft), target, sample.columns)
    writeConfig(configFile, draftConfig(draft), umask)
    return await report(context, { proposal, draft, opened, place })
  } finally {
    terminal.endLive()
    await opened.close()
  }
}

/** @throws ConfigError if the file is there; `instead`: what a person can do */
export function requireNew(file: string, instead = ''): void {
  if (!existsSync(file)) return
  throw new ConfigError(file, `the file exists already; it was left as it is${instead}`)
}

/** Writes a file that is not there yet. */
export function writeConfig(file: string, text: string, umask: number): void {
  writeFileSync(file, text, { flag: 'wx' })
  chmodSync(file, 0o666 & ~umask)
}

/** Where a key is if nothing is said, as for `conform`. */
const KEY_VARIABLE = 'RECORDS_API_KEY'

function placeOf(
  { service, key }: InitOptions,
  folder: string,
  env: NodeJS.ProcessEnv,
): ServicePlace {
  if (service === undefined) {
    if (key === undefined) return DEV_PLACE
    throw new ConfigError('--key', 'expected --service as well, the URL whose key it is')
  }
  if (key === undefined && !env[KEY_VARIABLE])
    throw new ConfigError(
      '--service',
      `expected --key as well: file:PATH, env:NAME or command:COMMAND, where its key is; ${KEY_VARIABLE} is not set either`,
    )
  const url = serviceUrl(service)
  return { setting: url, url, key: keyPlace(key ?? `env:${KEY_VARIABLE}`, folder) }
}

interface Opened {
  readonly client: RecordsClient
  close(): Promise<void>
}

/** That of `records-sync dev` may not run: one like it is asked, which lives as long as this command. */
async function openService(
  { configFile, env }: CommandContext,
  place: ServicePlace,
): Promise<Opened> {
  if (place.url !== null) {
    const client = openClient(place.url, resolvedKey(place.key, dirname(configFile)), env)
    return { client, close: () => client.close() }
  }
  const service = await startService()
  const client = openClient(service.url, { env: 'KEY' }, { KEY: service.key })
  const close = async () => {
    await client.close()
    await service.close()
  }
  return { client, close }
}

interface Scene {
  readonly file: string
  readonly sample: CsvSample
  readonly targets: readonly Target[]
  readonly options: InitOptions
  readonly asker: Asker | null
}

/** The proposal, confirmed by the person where there is one. @throws SyncError `init_fit`, ConfigError without a key */
async function decide(
  { terminal, json }: CommandContext,
  { file, sample, targets, options, asker }: Scene,
): Promise<Proposal> {
  const { matchingProperty } = options
  const wishes = {
    name: basename(file).replace(/\.[^.]*$/, ''),
    key: matchingProperty === undefined ? undefined : keyWish(matchingProperty),
  }
  const first = proposeImport(sample, targets, wishes)
  if (first === null)
    throw new SyncError(
      'init_fit',
      `${file}: no column fits a property of ${targets.map(({ schema }) => schema.name).join(', ')}; nothing was written`,
    )
  const out = (line: string) => (json ? terminal.err(line) : terminal.out(line))
  out(sampleText(safeText(file, 200), sample) + (sample.reason === '' ? '' : ` (${sample.reason})`))
  const show = (proposal: Proposal) => proposalLines(proposal, sample.columns).forEach(out)
  const proposal = asker
    ? await askProposal(asker, out, first, { sample, targets, wishes, show })
    : first
  if (!asker) show(proposal)
  if (proposal.key !== null) return proposal
  throw new ConfigError(
    file,
    matchingProperty === undefined
      ? `no column says which record of ${proposal.objectType} a row is: in each, rows share a value or have none. Expected a column with a value of its own in each row, such as a number of the customer; --matching-property PROPERTY=COLUMN takes one all the same. Nothing was written`
      : `--matching-property ${safeText(matchingProperty)}: expected PROPERTY=COLUMN, a property of ${proposal.objectType} and a column of the file. Nothing was written`,
  )
}

interface Drafted {
  readonly file: string
  readonly sample: CsvSample
  readonly place: ServicePlace
  readonly proposal: Proposal
}

function draftOf(context: CommandContext, { file, sample, place, proposal }: Drafted): DraftImport {
  const { objectType, typeReason, otherTypes, key, keyReason, otherKeys } = proposal
  const [otherType] = otherTypes
  const [otherKey] = otherKeys
  const drafted = (isOpen: boolean) => (one: Proposal['open'][number]) => ({
    property: one.property,
    mapping: { column: one.column, ...one.settings },
    comment: one.reason,
    isOpen,
  })
  return {
    service: place.setting,
    serviceComment: place.url === null ? 'the one that "records-sync dev" starts' : '',
    key: place.key,
    keyComment: place.url === null ? 'written by "records-sync dev"' : '',
    sync: syncName(file),
    csv: { csv: settingPath(resolve(file), dirname(context.configFile)), ...sample.dialect },
    csvComment: sample.reason,
    objectType,
    typeComment: `${typeReason}${otherType ? `; of ${otherType.name} ${otherType.columns}` : ''}`,
    matchingProperty: key!.property,
    matchingComment: `${keyReason}${otherKey ? `; also possible: ${otherKey.property} from ${JSON.stringify(otherKey.column)}` : ''}`,
    properties: [...proposal.properties.map(drafted(false)), ...proposal.open.map(drafted(true))],
    left: proposal.left,
  }
}

/** The import as it is loaded from the draft. */
const importOf = (draft: DraftImport): ImportConfig => ({
  from: draft.csv as ImportConfig['from'],
  to: 'crm',
  object_type: draft.objectType,
  matching_property: draft.matchingProperty,
  mode: 'upsert',
  empty: 'omit',
  verify: 'sample',
  properties: Object.fromEntries(
    draft.properties
      .filter(({ isOpen }) => !isOpen)
      .map(({ property, mapping }) => [property, mapping]),
  ),
})

const SYNC_CHARS_MAX = 40

/** A name for the sync from that of the file: `Kontakte 2026.csv` is `kontakte_2026`. */
export function syncName(file: string): string {
  const name = basename(file)
    .replace(/(?:\.(?:csv|tsv|txt|gz))+$/i, '')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^a-z0-9]+/g, '_')
    .slice(0, SYNC_CHARS_MAX)
    .replaceAll(/^_+|_+$/g, '')
  if (name === '') return 'rows'
  return /^[a-z]/.test(name) ? name : `rows_${name}`
}

interface Written {
  readonly proposal: Proposal
  readonly draft: DraftImport
  readonly opened: Opened
  readonly place: ServicePlace
}

async function report(context: CommandContext, written: Written): Promise<number> {
  const { terminal, json, configFile } = context
  const { draft, proposal } = written
  if (json) {
    const lines: string[] = []
    const quiet = {
      ...context,
      terminal: { ...terminal, out: (line = '') => void lines.push(line) },
    }
    const code = await planOf(quiet, written)
    const { properties, open, left, objectType, key } = proposal
    terminal.out(
      JSON.stringify({
        config: configFile,
        sync: draft.sync,
        object_type: objectType,
        matching_property: key!.property,
        properties,
        open,
        left,
        plan: JSON.parse(lines.join('\n')) as unknown,
      }),
    )
    return code
  }
  terminal.out('')
  terminal.out(
    `Wrote ${configFile}: ${proposal.properties.length} properties; its comments say why`,
  )
  terminal.out('')
  const code = await planOf(context, written)
  terminal.out('')
  for (const line of nextSteps(context, written)) terminal.out(line)
  return code
}

/** The plan, with the service that the configuration names, or the one like that of `records-sync dev`. */
async function planOf(context: CommandContext, { draft, opened, place }: Written): Promise<number> {
  if (place.url !== null) return await plan(context, draft.sync)
  const sync = findSync(await context.loadConfig(), draft.sync)
  if (sync.kind !== 'import') return EXIT.done
  const { client } = opened
  const keyFingerprint = await client.keyFingerprint()
  const limit = client.quota.limitPerMinute()
  return await planImport(
    context,
    sync,
    {
      client,
      keyFingerprint,
      connect: async () => ({ client, keyFingerprint }),
      forecastOf: async (requests) => forecast(requests, 'import', null, { limit, reserve: 0 }),
    },
    {},
  )
}

/** Commands that do what they say in this folder as it is now. */
function nextSteps(
  { hint, configFile }: CommandContext,
  { proposal, draft, place }: Written,
): string[] {
  const look = proposal.open.length > 0 ? '; lines that begin with "# " wait for you' : ''
  const [run, what] =
    place.url === null
      ? [`dev -- run ${draft.sync}`, 'with a Records Service of its own, to try it on']
      : [`run ${draft.sync} --local`, 'in this terminal, with all that it needs']
  return [
    'Next:',
    ...wrapped(`1. look at ${basename(configFile)}${look}`, 2, 80),
    `  2. ${hint(run)}`,
    `     ${what}`,
  ]
}
