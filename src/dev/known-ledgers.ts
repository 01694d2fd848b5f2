// Which ledgers a project has had: the usual file next to its configuration, and the one that its runs were last kept in, as
// `.records-sync/ledger.json` has it. Promise kept here: a first run in an empty ledger does not forget another one in silence.

import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Config } from '../../config/index.ts'
import { LedgerError } from '../core/errors.ts'
import { safeText } from '../core/safe-text.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { isSameLedger, ledgerPlaceText, type LedgerPlace } from '../ledger/open.ts'
import { syncsWithRuns } from '../sqlite/own-tables.ts'
import { stateDirOf } from './parts.ts'

/** A ledger that the project has had. Its place is for messages: it has no user and no password. */
interface KnownLedger {
  readonly place: string
  /** Null of a PostgreSQL. */
  readonly file: string | null
  readonly syncs: readonly string[]
}

const NAMED_MAX = 5

const noteFile = (configFile: string) => join(stateDirOf(configFile), 'ledger.json')

function readNotes(configFile: string): Readonly<Record<string, KnownLedger>> {
  try {
    return JSON.parse(readFileSync(noteFile(configFile), 'utf8')) as Record<string, KnownLedger>
  } catch {
    return {}
  }
}

/** Notes where the runs of a sync are kept. A folder that cannot be written has no note. */
export function rememberLedger(
  { file: configFile }: Pick<Config, 'file'>,
  place: LedgerPlace,
  sync: string,
): void {
  const notes = readNotes(configFile)
  const name = basename(configFile)
  const before = notes[name]
  const text = ledgerPlaceText(place)
  const known = before?.place === text ? before.syncs : []
  if (before?.place === text && known.includes(sync)) return
  const note: KnownLedger = {
    place: text,
    file: 'sqlite' in place ? place.sqlite : null,
    syncs: [...known, sync],
  }
  const file = noteFile(configFile)
  try {
    mkdirSync(stateDirOf(configFile), { recursive: true, mode: 0o700 })
    // Whole or not at all: a reader never sees a part of it.
    writeFileSync(`${file}.${process.pid}`, JSON.stringify({ ...notes, [name]: note }), {
      mode: 0o600,
    })
    renameSync(`${file}.${process.pid}`, file)
  } catch {
    // Nothing depends on it but the warning that it is for.
  }
}

/** What is wrong with a first run of one of `syncs` in the configured ledger, as another one has runs of it; null if nothing is. */
export async function otherLedgerText(
  { file: configFile }: Pick<Config, 'file'>,
  {
    place,
    ledger,
    syncs,
  }: {
    readonly place: LedgerPlace
    /** Null where there is none yet. */
    readonly ledger: Pick<Ledger, 'hasBegun'> | null
    readonly syncs: readonly string[]
  },
): Promise<string | null> {
  if (ledger !== null && (await ledger.hasBegun())) return null
  const here = ledgerPlaceText(place)
  const noted = readNotes(configFile)[basename(configFile)]
  const usual = join(stateDirOf(configFile), 'ledger.db')
  const isHere = (file: string) => isSameLedger({ sqlite: file }, place)
  const others: readonly KnownLedger[] = [
    ...(noted && noted.place !== here && (noted.file === null || !isHere(noted.file))
      ? [noted]
      : []),
    ...(isHere(usual) ? [] : [{ place: usual, file: usual, syncs: [] }]),
  ]
  for (const other of others) {
    const kept = other.file === null ? other.syncs : syncsWithRuns(other.file)
    const both = syncs.filter((sync) => kept.includes(sync))
    if (both.length > 0) return textOf(here, other, both)
  }
  return null
}

function textOf(here: string, { place, file }: KnownLedger, syncs: readonly string[]): string {
  const named = syncs.slice(0, NAMED_MAX).map((sync) => safeText(sync, 60))
  const more = syncs.length > NAMED_MAX ? ` and ${syncs.length - NAMED_MAX} more` : ''
  const from = file === null ? "'${NAME}'` (the variable with its URL)" : `${file}\``
  return `The ledger ${here} has no runs, and ${place} has those of ${named.join(', ')}${more}. A first run here sends every row again, and does not know what other users changed. Take the runs along: \`records-sync ledger move --from ${from}. To start from nothing: \`records-sync run SYNC --new-ledger\``
}

/** @throws LedgerError `ledger_other_runs` */
export async function requireOwnLedger(
  config: Pick<Config, 'file'>,
  of: Parameters<typeof otherLedgerText>[1],
): Promise<void> {
  const text = await otherLedgerText(config, of)
  if (text !== null) throw new LedgerError('ledger_other_runs', text)
}

/** Before a run is opened: checks that it belongs here, and notes it. @throws LedgerError `ledger_other_runs` */
export async function keepRunsIn(
  config: Pick<Config, 'file'>,
  {
    place,
    ledger,
    sync,
  }: { readonly place: LedgerPlace; readonly ledger: Ledger; readonly sync: string },
): Promise<void> {
  await requireOwnLedger(config, { place, ledger, syncs: [sync] })
  rememberLedger(config, place, sync)
}
