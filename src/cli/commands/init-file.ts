// `records-sync init FILE`: a configuration for a CSV file and a service. It reads the first rows, asks the service what it has,
// proposes object type, key and mapping, explains each guess in a comment, and ends with a plan. Promises kept here: no file
// that exists is written, and nothing at the service; no key is in what it prints or writes, but for one that a person pastes for the
// key's own file.

import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { draftConfig, type DraftImport, type ImportConfig } from '../../../config/index.ts'
import type { RecordsClient } from '../../client/index.ts'
import { ConfigError, SyncError } from '../../core/errors.ts'
import {
  guessEvidenceText,
  loadMapping,
  proposeImport,
  withoutLinked,
  type Proposal,
  type ProposedLink,
  type Target,
} from '../../import/index.ts'
import { startService } from '../../service/index.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import type { Asker } from '../shared/questions.ts'
import { safeText } from '../shared/terminal.ts'
import { proposalLines, sampleText } from '../views/proposal.ts'
import { addToConfig, connectionFor, freeName, readExisting } from './init-add.ts'
import { askProposal, askService, keyWish } from './init-questions.ts'
import { proposedLinks } from './init-links.ts'
import { reportInit } from './init-report.ts'
import { settledSample } from './init-dialect.ts'
import { readCsvSample, type CsvSample } from './init-sample.ts'
import {
  DEV_PLACE,
  openClient,
  placeOfService,
  readTargets,
  resolvedKey,
  settingPath,
  type ServicePlace,
} from './init-service.ts'
import { printJson } from '../json.ts'

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

/**
 * Where there is a configuration, the sync is added to it.
 * @throws ConfigError if an option is wrong, or a sync reads the file already; what reading file and service throws
 */
export async function initFromFile(
  context: CommandContext,
  file: string,
  options: InitOptions,
  { umask, asker }: InitParts,
): Promise<number> {
  const { terminal, configFile } = context
  const say = (line: string) => terminal.err(line)
  const existing = existsSync(configFile) ? await readExisting(context, resolve(file)) : null
  const first = await readCsvSample(file)
  const place = existing
    ? await connectionFor(context, existing, options, { asker, say })
    : { ...(await newPlace(context, options, asker)), connection: 'crm', isNew: true }
  const opened = await openService(context, place)
  try {
    const targets = await readTargets(opened.client, options.objectType, (line) => {
      if (terminal.isScreen) terminal.live(line)
    })
    terminal.endLive()
    const sample = await settledSample(file, first, targets, { asker, say })
    const decided = await decide(context, { file, sample, targets, options, asker })
    const links = existing
      ? await proposedLinks(existing.config, place.connection, opened.client, {
          sample,
          targets,
          decided,
        })
      : []
    const proposal = withoutLinked(decided, links)
    for (const { reason } of links) say(`A link waits in a comment: ${reason}`)
    const taken = Object.keys(existing?.config.syncs ?? {})
    const draft = draftOf(context, { file, sample, place, proposal, links, taken })
    const target = targets.find(({ schema }) => schema.name === proposal.objectType)!
    await loadMapping(draft.sync, importOf(draft), target, sample.columns)
    if (existing === null) {
      writeConfig(configFile, draftConfig(draft), umask)
      await requireReadable(context)
    } else {
      const toDo = addToConfig(context, existing, draft, place.isNew)
      if (toDo !== null) return sayToDo(context, toDo)
    }
    const { client } = opened
    const isAdded = existing !== null
    return await reportInit(context, { file, sample, proposal, draft, client, place, isAdded })
  } finally {
    terminal.endLive()
    await opened.close()
  }
}

async function newPlace(
  { configFile, env, terminal }: CommandContext,
  options: InitOptions,
  asker: Asker | null,
): Promise<ServicePlace> {
  const folder = dirname(configFile)
  if (asker) return await askService(asker, (line) => terminal.err(line), options, folder)
  return placeOfService(options, folder, env) ?? DEV_PLACE
}

/** The configuration is written in a way that nothing can be put into: a person does it. */
function sayToDo({ terminal, json, configFile }: CommandContext, lines: readonly string[]): number {
  const what = `${configFile} was left as it is: nothing can be added to it without changing what is there`
  if (json) printJson(terminal, { error: { code: 'init_add', message: what }, lines })
  else for (const line of ['', what, ...lines]) terminal.out(line)
  return EXIT.usage
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

/** Takes a configuration away that was written just now and does not load. @throws ConfigError */
export async function requireReadable(context: CommandContext): Promise<void> {
  const { configFile } = context
  try {
    await context.loadConfig()
  } catch (error) {
    rmSync(configFile, { force: true })
    const why = error instanceof Error ? error.message : String(error)
    throw new ConfigError(
      configFile,
      `names of this service or this file cannot be written in a configuration, so none was left: ${safeText(why, 600)}`,
    )
  }
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
  for (const warning of sample.warnings) out(`warning: ${warning}`)
  if (sample.waiting !== null) out(`waits: ${sample.waiting.reason}`)
  const show = (proposal: Proposal) => proposalLines(proposal, sample.columns).forEach(out)
  const proposal = asker
    ? await askProposal(asker, out, first, { sample, targets, wishes, show })
    : first
  if (!asker) show(proposal)
  if (proposal.key !== null) return proposal
  throw new ConfigError(
    file,
    matchingProperty === undefined
      ? noKeyText(proposal)
      : `--matching-property ${safeText(matchingProperty)}: expected PROPERTY=COLUMN, a property of ${proposal.objectType} and a column of the file. Nothing was written`,
  )
}

function noKeyText({ objectType, nearKeys }: Proposal): string {
  const missing = `no column says which record of ${objectType} a row is: in each, rows share a value or have none. Nothing was written. Expected a column with a value of its own in each row, such as a number of the customer: add it to the export`
  if (nearKeys.length === 0)
    return `${missing}, or name one with --matching-property PROPERTY=COLUMN`
  const options = nearKeys.map(({ property, column, reason }) => {
    const pair = `${property}=${safeText(column, 60)}`
    return `--matching-property ${/\s/.test(pair) ? `"${pair}"` : pair}: ${reason}`
  })
  return [
    `${missing}, or take one of these; of rows that share a value the last one counts, and rows without one are set aside`,
    ...options,
  ].join('\n  ')
}

/** Other keys that a comment names. */
const OTHER_KEYS_MAX = 3

interface Drafted {
  readonly file: string
  readonly sample: CsvSample
  readonly place: ServicePlace & { readonly connection: string }
  readonly proposal: Proposal
  readonly links: readonly ProposedLink[]
  /** Names of syncs that are there. */
  readonly taken: readonly string[]
}

function draftOf(
  context: CommandContext,
  { file, sample, place, proposal, links, taken }: Drafted,
): DraftImport {
  const { objectType, typeReason, otherTypes, key, keyReason, otherKeys } = proposal
  const [otherType] = otherTypes
  const csv = settingPath(resolve(file), dirname(context.configFile))
  const also = otherKeys
    .slice(0, OTHER_KEYS_MAX)
    .map((other) => `${other.property} from ${JSON.stringify(other.column)}`)
    .join(', ')
  const drafted = (isOpen: boolean) => (one: Proposal['open'][number]) => ({
    property: one.property,
    mapping: { column: one.column, ...one.settings },
    comment: one.evidence ? `${one.reason}; ${guessEvidenceText(one.evidence)}` : one.reason,
    isOpen,
  })
  return {
    service: place.setting,
    serviceComment: place.url === null ? 'the one that "records-sync dev" starts' : '',
    key: place.key,
    keyComment: place.url === null ? 'written by "records-sync dev"' : '',
    to: place.connection,
    sync: freeName(syncName(file), taken),
    csv: { csv, ...sample.dialect },
    csvComment: sample.reason,
    csvWaiting:
      sample.waiting === null
        ? null
        : { csv: { csv, ...sample.waiting.dialect }, comment: sample.waiting.reason },
    objectType,
    typeComment: `${typeReason}${otherType ? `; of ${otherType.name} ${otherType.columns}` : ''}`,
    matchingProperty: key!.property,
    matchingComment: `${keyReason}${also === '' ? '' : `; also possible: ${also}`}`,
    properties: [...proposal.properties.map(drafted(false)), ...proposal.open.map(drafted(true))],
    links: links.map(({ reason: comment, ...link }) => ({ link, comment })),
    left: proposal.left,
  }
}

/** The import as it is loaded from the draft. */
const importOf = (draft: DraftImport): ImportConfig => ({
  from: draft.csv as ImportConfig['from'],
  to: draft.to,
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
