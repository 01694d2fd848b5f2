// What `records-sync init` asks a person: little, and each with its guess.

import { existsSync, writeFileSync } from 'node:fs'
import { secretOrigin, type SecretSource } from '../../../config/index.ts'
import { isZone, zoneProblem } from '../../core/time-zone.ts'
import { isKeyForm, keyFormText } from '../../client/key.ts'
import { SyncError } from '../../core/errors.ts'
import { suggestWord } from '../../core/suggest.ts'
import {
  proposeImport,
  withAnswer,
  type OpenProperty,
  type Proposal,
  type ProposalWishes,
  type SourceSample,
  type Target,
} from '../../import/index.ts'
import { askUntil, type Asker } from '../shared/questions.ts'
import { safeText } from '../shared/terminal.ts'
import { DEV_PLACE, keyPlace, resolvedKey, serviceUrl, type ServicePlace } from './init-service.ts'

type Say = (line: string) => void

/** Reads an answer; a message if what reads it throws. */
const reading =
  <T>(read: (answer: string) => T) =>
  (answer: string): { value: T } | { message: string } => {
    try {
      return { value: read(answer) }
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      return { message: error.message }
    }
  }

/** Which service, and where its key is. `given`: what the command line says already. */
export async function askService(
  asker: Asker,
  say: Say,
  given: { readonly service?: string | undefined; readonly key?: string | undefined },
  configFolder: string,
): Promise<ServicePlace> {
  const url =
    given.service === undefined
      ? await askUntil(
          asker,
          say,
          ['URL of the service (Enter: the one that "records-sync dev" starts)'],
          reading((answer) => (answer === '' ? null : serviceUrl(answer))),
        )
      : serviceUrl(given.service)
  if (url === null) return DEV_PLACE
  const key: SecretSource =
    given.key === undefined
      ? await askUntil(
          asker,
          say,
          ['Its API key is in (file:PATH, env:NAME, command:COMMAND)', 'file:./crm.key'],
          reading((answer) => keyPlace(answer, configFolder)),
        )
      : keyPlace(given.key, configFolder)
  await askMissingKey(asker, say, resolvedKey(key, configFolder))
  return { setting: url, url, key }
}

/** Writes the key into its file, where there is none yet and the person has it at hand. */
async function askMissingKey(asker: Asker, say: Say, place: SecretSource): Promise<void> {
  if (!('file' in place) || existsSync(place.file)) return
  say(`There is no ${secretOrigin(place)} yet`)
  const key = await asker.secret(
    'Paste the key; it is not shown, and goes into that file, which only you may read',
  )
  if (!isKeyForm(key))
    throw new SyncError('init_key', `${keyFormText('answer', key)}; nothing was written`)
  writeFileSync(place.file, `${key}\n`, { flag: 'wx', mode: 0o600 })
}

interface Scene {
  readonly sample: SourceSample
  readonly targets: readonly Target[]
  readonly wishes: ProposalWishes
  /** Shows a proposal. */
  show(proposal: Proposal): void
}

/** The proposal as a person has confirmed it. @throws SyncError `init_left` */
export async function askProposal(
  asker: Asker,
  say: Say,
  first: Proposal,
  scene: Scene,
): Promise<Proposal> {
  scene.show(first)
  const type = await askType(asker, say, first, scene)
  const proposal = await askKey(asker, say, type, scene)
  let answered = proposal
  for (const open of proposal.open) {
    if (open.question === undefined) continue
    const settings = await askOpen(asker, say, open, scene)
    if (settings !== null) answered = withAnswer(answered, open, settings)
  }
  return answered
}

async function askType(asker: Asker, say: Say, first: Proposal, scene: Scene): Promise<Proposal> {
  const names = scene.targets.map(({ schema }) => schema.name)
  if (names.length === 1) return first
  const chosen = await askUntil(asker, say, ['Object type', first.objectType], (answer) =>
    names.includes(answer)
      ? { value: answer }
      : { message: `no such type${suggestWord(answer, names, 'object types')}` },
  )
  if (chosen === first.objectType) return first
  const targets = scene.targets.filter(({ schema }) => schema.name === chosen)
  const other = proposeImport(scene.sample, targets, scene.wishes)
  if (other === null)
    throw new SyncError('init_fit', `No column fits ${chosen}; nothing was written`)
  scene.show(other)
  return other
}

/** Which property and column say which record a row is, where that is not certain. */
async function askKey(asker: Asker, say: Say, proposal: Proposal, scene: Scene): Promise<Proposal> {
  const { key, otherKeys } = proposal
  if (key !== null && otherKeys.length === 0) return proposal
  const pair = (one: { property: string; column: string }) => `${one.property}=${one.column}`
  if (otherKeys.length > 0)
    say(`Other keys are possible: ${otherKeys.slice(0, 5).map(pair).join(', ')}`)
  else say('No column says which record a row is: two rows share a value, or some have none')
  const { schema } = scene.targets.find(({ schema: { name } }) => name === proposal.objectType)!
  const names = schema.properties.map(({ name }) => name)
  const chosen = await askUntil(
    asker,
    say,
    ['Key, as PROPERTY=COLUMN', key === null ? '' : pair(key)],
    (answer) => {
      const wish = keyWish(answer)
      if (!names.includes(wish.property))
        return { message: `no such property${suggestWord(wish.property, names, 'properties')}` }
      if (wish.column === undefined || !scene.sample.columns.includes(wish.column))
        return {
          message: `no such column${suggestWord(wish.column ?? '', scene.sample.columns, 'columns')}`,
        }
      return { value: wish }
    },
  )
  if (key !== null && pair(key) === `${chosen.property}=${chosen.column}`) return proposal
  const targets = scene.targets.filter(({ schema: { name } }) => name === proposal.objectType)
  return proposeImport(scene.sample, targets, { ...scene.wishes, key: chosen }) ?? proposal
}

/** `PROPERTY` or `PROPERTY=COLUMN` */
export function keyWish(text: string): NonNullable<ProposalWishes['key']> {
  const at = text.indexOf('=')
  return at < 0
    ? { property: text.trim() }
    : { property: text.slice(0, at).trim(), column: text.slice(at + 1) }
}

async function askOpen(
  asker: Asker,
  say: Say,
  { column, property, settings, question }: OpenProperty,
  { sample, targets }: Scene,
): Promise<OpenProperty['settings'] | null> {
  const index = sample.columns.indexOf(column)
  const example = sample.rows
    .map((row) => String(row[index] ?? ''))
    .find((cell) => cell.trim() !== '')
  const what = `${JSON.stringify(safeText(column, 40))} for ${property}, such as ${safeText(example ?? '', 40)}`
  const { about, answers } = question!
  if (about === 'unit') return await askUnit(asker, say, what, settings, targets)
  if (about === 'zone') return await askZone(asker, say, what, settings)
  say(`${what}: ${answers.map((one, at) => `${at + 1} ${nameOfAnswer(one)}`).join(', ')}?`)
  const chosen = await askUntil<OpenProperty['settings'] | null>(
    asker,
    say,
    ['A number, or Enter to leave it out'],
    (answer) => {
      if (answer === '') return { value: null }
      const one = answers[Number(answer) - 1] ?? answers.find(({ format }) => format === answer)
      return one ? { value: one } : { message: `expected a number from 1 to ${answers.length}` }
    },
  )
  if (chosen?.zone !== undefined) return await askZone(asker, say, what, chosen)
  if (chosen?.unit !== undefined && /in which currency/.test(question!.text))
    return await askUnit(asker, say, what, chosen, targets)
  return chosen
}

/** What an answer says, in a word or two. */
function nameOfAnswer({ format, thousands, decimal = '.' }: OpenProperty['settings']): string {
  if (format !== undefined) return [format].flat().join(', ')
  return thousands === undefined
    ? `"${decimal}" is the decimal mark`
    : `"${thousands}" separates thousands`
}

/** The zone of times that name none; null: they are left out. */
const askZone = (
  asker: Asker,
  say: Say,
  what: string,
  settings: OpenProperty['settings'],
): Promise<OpenProperty['settings'] | null> => {
  say(`${what}: in which time zone?`)
  return askUntil(asker, say, ['UTC, or such as Europe/Berlin; Enter to leave it out'], (zone) => {
    if (zone === '') return { value: null }
    return isZone(zone)
      ? { value: { ...settings, zone } }
      : { message: zoneProblem(zone).replaceAll('`', '') }
  })
}

/** The currency of amounts that name none; null: they are left out. */
function askUnit(
  asker: Asker,
  say: Say,
  what: string,
  settings: OpenProperty['settings'],
  targets: readonly Target[],
): Promise<OpenProperty['settings'] | null> {
  const units = targets.flatMap(({ fieldTypes }) => fieldTypes.flatMap((type) => type.units))
  say(`${what}: in which currency?`)
  return askUntil(asker, say, ['A code such as EUR, or Enter to leave it out'], (answer) => {
    const unit = answer.toUpperCase()
    if (unit === '') return { value: null }
    if (/^[A-Z]{3}$/.test(unit) && (units.length === 0 || units.includes(unit)))
      return { value: { ...settings, unit } }
    return {
      message: `expected a code such as EUR${suggestWord(unit, [...new Set(units)], 'units')}`,
    }
  })
}
