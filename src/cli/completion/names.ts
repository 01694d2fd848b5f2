// The names that a folder has: of syncs and other parts of its configuration, and numbers of its runs. Read at each press of a
// key, so only what is near is asked: the file, and a ledger that is a file. Promise kept here: nothing but names gets out, and
// what cannot be read gives none.

import type { NamedSection, WrittenNames } from '../../../config/names.ts'
import { LIVE_STATES } from '../../core/domain/books.ts'
import type { Run } from '../../ledger/ledger.ts'
import type { CompletionWord, NameKind } from './words.ts'

const RUNS_MAX = 30

const SECTIONS: Readonly<Record<Exclude<NameKind, 'run' | 'live run'>, NamedSection>> = {
  sync: 'syncs',
  'sync or group': 'syncs',
  connection: 'connections',
  warehouse: 'warehouses',
  notification: 'notifications',
}

export async function completionNames(
  kind: NameKind,
  configFile: string,
): Promise<CompletionWord[]> {
  try {
    const { readWrittenNames } = await import('../../../config/names.ts')
    const written = await readWrittenNames(configFile)
    if (kind === 'run' || kind === 'live run') return await runsOf(written, kind === 'live run')
    const isSync = SECTIONS[kind] === 'syncs'
    const about = (name: string) => (isSync ? (written.kindOf(name) ?? 'sync') : kind)
    const names = written.namesOf(SECTIONS[kind]).map((word) => ({ word, about: about(word) }))
    if (kind !== 'sync or group') return names
    return [...names, ...written.namesOf('groups').map((word) => ({ word, about: 'group' }))]
  } catch {
    return []
  }
}

/** Numbers first, the newest of them first; then the syncs that have them. */
async function runsOf(written: WrittenNames, isLive: boolean): Promise<CompletionWord[]> {
  if (written.ledgerFile === null) return []
  const { openSqliteLedger } = await import('../../ledger/sqlite/index.ts')
  const ledger = openSqliteLedger(written.ledgerFile, { readOnly: true })
  try {
    const all = await ledger.runs({ limit: RUNS_MAX })
    const runs = all.filter(({ state }) => !isLive || LIVE_STATES.includes(state))
    const ran = new Set(runs.map(({ sync }) => sync))
    const syncs = written.namesOf('syncs').filter((name) => ran.has(name))
    return [
      ...runs.map((run) => ({ word: String(run.id), about: runText(run) })),
      ...syncs.map((word) => ({ word, about: isLive ? 'its live run' : 'its latest run' })),
    ]
  } finally {
    await ledger.close()
  }
}

const runText = ({ sync, state, openedAt }: Run): string =>
  `${sync}, ${state}, ${openedAt.slice(0, 16).replace('T', ' ')}`
