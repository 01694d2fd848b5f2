// `records-sync run`: of one sync, of several, of a group, or of all. What is named decides which.

import type { Config } from '../../../config/index.ts'
import { ConfigError } from '../../core/errors.ts'
import type { GroupChoice } from '../../core/domain/sync-order.ts'
import { unknownName } from '../../core/unknown-name.ts'
import type { CommandContext } from '../shared/context.ts'
import { safeText } from '../shared/terminal.ts'
import type { RunOptions } from '../shared/run-options.ts'
import { run } from './run.ts'
import { runGroup } from './run-group.ts'

export interface RunNamedOptions extends RunOptions {
  /** Every sync. */
  readonly all?: boolean
}

export async function runNamed(
  context: CommandContext,
  names: readonly string[],
  { all = false, ...options }: RunNamedOptions,
): Promise<number> {
  const config = await context.loadConfig()
  const chosen = choiceOf(config, names, all)
  if (!('sync' in chosen)) return await runGroup(context, config, chosen, options)
  const { after = [] } = config.syncs[chosen.sync] ?? {}
  if (after.length > 0)
    context.terminal.err(
      `${chosen.sync} runs after ${after.join(', ')} where they run together; alone it does not wait for ${after.length === 1 ? 'it' : 'them'}`,
    )
  return await run(context, chosen.sync, options)
}

/** @throws ConfigError for names that mean nothing, or not that together */
function choiceOf(
  config: Config,
  names: readonly string[],
  all: boolean,
): GroupChoice | { readonly sync: string } {
  const { file, syncs, groups } = config
  const refuse = (what: string, message: string) => new ConfigError(what, message)
  if (all) {
    if (names.length === 0) return { syncs: 'all' }
    throw refuse('--all', `it means every sync; leave out ${listOf(names)}, or leave --all out`)
  }
  const valid = [...Object.keys(syncs), ...Object.keys(groups)]
  if (names.length === 0)
    throw refuse('SYNC', `expected a sync, a group, or --all; there is: ${listOf(valid)}`)
  const kind = Object.keys(groups).length > 0 ? 'sync or group' : 'sync'
  for (const name of names)
    if (!valid.includes(name)) throw unknownName({ file }, kind, name, valid)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw refuse('SYNC', `${twice} is named twice; expected each sync once`)
  const group = names.find((name) => Object.hasOwn(groups, name))
  if (group === undefined) return names.length === 1 ? { sync: names[0]! } : { syncs: names }
  if (names.length === 1) return { group }
  throw refuse(
    'SYNC',
    `${group} is a group, which runs alone; its syncs are ${listOf(groups[group]!.syncs)}`,
  )
}

const NAMES_MAX = 30

const listOf = (names: readonly string[]): string =>
  names
    .slice(0, NAMES_MAX)
    .map((name) => safeText(name, 63))
    .join(', ') || 'none'
