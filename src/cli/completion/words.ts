// What may stand at the end of a command line, by the commands and options that there are.

import type { Argument, Command, Option } from 'commander'
import { isHidden } from '../shared/help.ts'

/** What the names that a word may be are the names of. */
export type NameKind =
  | 'sync'
  | 'sync or group'
  | 'connection'
  | 'warehouse'
  | 'notification'
  | 'run'
  | 'live run'

export interface CompletionWord {
  readonly word: string
  readonly about: string
}

export interface Completion {
  readonly candidates: readonly CompletionWord[]
  /** What else the shell offers. */
  readonly paths: 'files' | 'folders' | null
}

/** Gives the names that there are; nothing where they cannot be known. */
export type ReadCompletionNames = (
  kind: NameKind,
  configFile: string,
) => Promise<readonly CompletionWord[]>

const NAME_KINDS: Readonly<Record<string, NameKind>> = {
  sync: 'sync',
  syncs: 'sync',
  connection: 'connection',
  warehouse: 'warehouse',
  name: 'notification',
  run: 'run',
}
const PATHS: Readonly<Record<string, 'files' | 'folders'>> = {
  file: 'files',
  files: 'files',
  folder: 'folders',
}
/** They steer a run, so that only live ones are meant. */
const STEERING = ['pause', 'resume', 'cancel', 'approve', 'reject']

const NOTHING: Completion = { candidates: [], paths: null }

/** What the words before the last one have led to. */
interface Place {
  readonly command: Command
  /** Arguments that it has been given. */
  readonly given: number
  /** The option whose value comes next. */
  readonly pending: Option | null
  readonly used: ReadonlySet<Option>
  readonly configFile: string
  /** Options have ended: what follows is a command line of its own. */
  readonly isBeside: boolean
}

/** @param words what follows the name of the program, up to the word with the cursor */
export async function completionOf(
  program: Command,
  words: readonly string[],
  completionNames: ReadCompletionNames,
): Promise<Completion> {
  // bash makes words of `--option=value` where the sign is.
  const before = words.slice(0, -1).filter((word) => word !== '=')
  const typed = words.at(-1) ?? ''
  const place = placeAfter(program, before)
  if (place.isBeside)
    return await completionOf(program, words.slice(words.lastIndexOf('--') + 1), completionNames)
  const current = typed === '=' ? '' : typed
  const { candidates, paths } = await allAt(place, current, completionNames)
  const fitting = candidates.filter(({ word }) => word.startsWith(current))
  return { candidates: fitting, paths }
}

async function allAt(
  place: Place,
  current: string,
  completionNames: ReadCompletionNames,
): Promise<Completion> {
  const { command, pending, given, configFile } = place
  const valuesOf = async (kind: string, from: Command): Promise<Completion> => {
    const names = nameKindOf(kind, from)
    const candidates = names ? await completionNames(names, configFile) : []
    return { candidates, paths: PATHS[kind] ?? null }
  }
  // A list of values ends where an option begins.
  if (pending && !(pending.variadic && current.startsWith('-'))) {
    if (pending.argChoices) return { ...NOTHING, candidates: pending.argChoices.map(wordOnly) }
    return await valuesOf(valueName(pending), command)
  }
  const [name, text] = current.startsWith('--') ? current.split('=', 2) : []
  const assigned = text === undefined ? undefined : optionOf(command, name!)
  if (assigned) {
    const values = await allAt({ ...place, pending: assigned }, text!, completionNames)
    const candidates = values.candidates.map((each) => ({ ...each, word: `${name}=${each.word}` }))
    return { candidates, paths: null }
  }
  if (current.startsWith('-')) return { ...NOTHING, candidates: optionsAt(place) }
  const subcommands = given === 0 ? commandsOf(command) : []
  const argument = argumentAt(command, given)
  const values = argument
    ? await argumentValues(argument, (kind) => valuesOf(kind, command))
    : NOTHING
  return { ...values, candidates: [...subcommands, ...values.candidates] }
}

const argumentValues = async (
  argument: Argument,
  valuesOf: (kind: string) => Promise<Completion>,
): Promise<Completion> =>
  argument.argChoices
    ? { ...NOTHING, candidates: argument.argChoices.map(wordOnly) }
    : await valuesOf(argument.name())

const wordOnly = (word: string): CompletionWord => ({ word, about: '' })

/** `file` of `--output <file>` */
const valueName = ({ flags }: Option): string => /[<[]([\w-]+)/.exec(flags)?.[1] ?? ''

function nameKindOf(name: string, command: Command): NameKind | undefined {
  const kind = Object.hasOwn(NAME_KINDS, name) ? NAME_KINDS[name] : undefined
  // The objects of other commands have names too, and no section of the configuration has them.
  if (kind === 'notification' && command.name() !== 'notify') return undefined
  if (kind === 'sync' && isOfGroups(command)) return 'sync or group'
  return kind === 'run' && STEERING.includes(command.name()) ? 'live run' : kind
}

/** `run`, and what `schedules` does with one. */
const isOfGroups = (command: Command): boolean =>
  command.name() === 'run' || command.parent?.name() === 'schedules'

function argumentAt({ registeredArguments: all }: Command, at: number): Argument | undefined {
  const last = all.at(-1)
  return all[at] ?? (last?.variadic ? last : undefined)
}

const commandsOf = (command: Command): CompletionWord[] =>
  command.commands
    .filter((each) => !isHidden(each))
    .map((each) => ({ word: each.name(), about: each.summary() || each.description() }))

/** Its own options, then those that all commands take. */
function allOptions(command: Command): readonly Option[] {
  let top = command
  while (top.parent) top = top.parent
  const shared = top === command ? [] : top.options.filter(({ long }) => long !== '--version')
  return [...command.options, ...shared]
}

const optionsAt = ({ command, used }: Place): CompletionWord[] => [
  ...allOptions(command)
    .filter((option) => !option.hidden && (option.variadic || !used.has(option)))
    .map(({ long, short, description }) => ({ word: (long ?? short)!, about: description })),
  { word: '--help', about: 'display help for command' },
]

const optionOf = (command: Command, word: string): Option | undefined =>
  allOptions(command).find(({ long, short }) => word === long || word === short)

/** Follows the words from command to command. What the program would refuse is passed over. */
function placeAfter(program: Command, words: readonly string[]): Place {
  let command = program
  let given = 0
  let pending: Option | null = null
  let isBeside = false
  let configFile: string = program.opts<{ config: string }>().config
  const used = new Set<Option>()
  for (const word of words) {
    if (word === '--') isBeside = command.name() === 'dev'
    if (word.startsWith('-')) {
      const [name = '', value] = word.split('=', 2)
      const option = optionOf(command, name)
      if (option) used.add(option)
      if (value !== undefined && option?.long === '--config') configFile = value
      const takesValue = option !== undefined && (option.required || option.optional)
      pending = takesValue && value === undefined ? option : null
    } else if (pending) {
      if (pending.long === '--config') configFile = word
      if (!pending.variadic) pending = null
    } else {
      const next = given === 0 ? command.commands.find((each) => each.name() === word) : undefined
      if (next) command = next
      else given += 1
    }
  }
  return { command, given, pending, used, configFile, isBeside }
}
