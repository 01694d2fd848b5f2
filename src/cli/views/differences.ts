// What a reconciliation found, as text and as JSON.

import {
  changedByText,
  DIFFERENCE_KINDS,
  differenceMeaning,
  isOfLink,
  sumOfDifferences,
  sumOfOriginals,
} from '../../core/domain/differences.ts'
import { keptDifferText } from '../../core/domain/spared.ts'
import { jobOf } from '../../runs/job.ts'
import { isComplete, LIVE_STATES } from '../../core/domain/books.ts'
import type { Differences, NotedDifference, Run } from '../../ledger/ledger.ts'
import { countText } from '../../core/format.ts'
import type { RunDifferences, RunFacts } from '../../report/run-report.ts'
import type { CommandContext } from '../shared/context.ts'
import { formatNumber, safeText, screenLines, table, type Terminal } from '../shared/terminal.ts'

const GROUPS_SHOWN = 20

type Compared = Pick<RunFacts, 'kept' | 'kind' | 'state' | 'rows' | 'links'>

/** Whether a run that found no difference has compared anything, and came to its end. */
const isEqual = ({ state, kind, rows }: Compared): boolean =>
  isComplete(state) &&
  (kind === 'mirror' || (rows?.unchanged ?? 0) + (rows?.reasons.protected ?? 0) > 0)

function withoutDifference(run: Compared): string {
  const waiting = run.links?.reasons.target_missing ?? 0
  if (isEqual(run) && waiting > 0)
    return `  What was compared is equal on both sides; ${countText(waiting, 'link')} ${waiting === 1 ? 'is waiting: its target does' : 'are waiting: their targets do'} not exist yet.`
  if (isEqual(run) && run.kept !== null)
    return `  Both sides are equal but for what is kept: ${keptDifferText(run.kept)}.`
  if (isEqual(run) && run.kind === 'mirror' && run.state === 'complete_with_differences')
    return '  No record differs, as far as they were compared; the message says what the tables lack.'
  if (isEqual(run)) return '  Both sides are equal, as far as they were compared.'
  if (isComplete(run.state)) return '  No row was compared.'
  return LIVE_STATES.includes(run.state)
    ? '  No difference so far; it is not at its end.'
    : '  It ended before everything was compared: whether both sides are equal is not known.'
}

/** Records that differ by kind, then the fields, and who changed them. */
export function printRunDifferences(
  terminal: Terminal,
  run: Compared,
  { found, left, groups }: RunDifferences,
): void {
  if (sumOfDifferences(found) === 0) {
    const text = withoutDifference(run)
    const isWell =
      isEqual(run) &&
      run.state === 'complete' &&
      run.kept === null &&
      (run.links?.reasons.target_missing ?? 0) === 0
    terminal.out(isWell ? terminal.style('green', text) : text)
    return
  }
  for (const kind of DIFFERENCE_KINDS) {
    if (found[kind] === 0) continue
    const mended = found[kind] - left[kind]
    const note =
      mended === 0 ? '' : mended === found[kind] ? ', mended' : `, ${formatNumber(mended)} mended`
    terminal.out(
      `  ${kind.padEnd(11)} ${formatNumber(found[kind])}${note}  ${terminal.style('dim', differenceMeaning(kind, run.kind))}`,
    )
  }
  if (run.kept !== null) terminal.out(`  ${keptDifferText(run.kept)}.`)
  const fields = groups.filter(({ field }) => field !== null)
  if (fields.length === 0) return
  terminal.out()
  const rows = fields
    .slice(0, GROUPS_SHOWN)
    .map(({ stream, field, kind, whose, differences, example }) => [
      safeText(stream, 30),
      safeText(field!, 40),
      kind,
      changedByText(whose),
      differences,
      example,
    ])
  terminal.out(
    table(['object type', 'property', 'kind', 'changed by', 'values', 'first row'], rows),
  )
  if (fields.length > GROUPS_SHOWN)
    terminal.out(
      `  and ${formatNumber(fields.length - GROUPS_SHOWN)} more: --json shows all of them`,
    )
}

/** Records that are named. */
const FIRST_SHOWN = 5
/** Differences that are read for them: one for each field that differs. */
const FIRST_READ_MAX = 100

/**
 * The first records that differ, those that are not mended before the others: on the screen of the person who asked, and in no log.
 */
export async function readFirstDifferences(
  ledger: Pick<Differences, 'differences'>,
  run: number,
  { left }: RunDifferences,
): Promise<readonly NotedDifference[]> {
  const isRepaired = sumOfDifferences(left) === 0
  return (await ledger.differences(run, { after: 0, limit: FIRST_READ_MAX, isRepaired })).rows
}

/** Names records, with both values of each field that differs and who changed it. */
export function printFirstDifferences(
  terminal: Terminal,
  kind: Run['kind'],
  rows: readonly NotedDifference[],
): void {
  // Anything but a screen may be a log.
  if (!terminal.isScreen) return
  const records = new Map<string, NotedDifference[]>()
  for (const one of rows) {
    const { stream, key, recordId, ordinal } = one
    const name = key ?? `record ${recordId ?? '–'} of ${stream}`
    const where = ordinal === null ? name : `${name} (row ${formatNumber(ordinal)})`
    records.set(where, [...(records.get(where) ?? []), one])
  }
  const print = (text: string, indent: number) => {
    for (const line of screenLines(text, indent)) terminal.out(line)
  }
  for (const [name, differences] of [...records].slice(0, FIRST_SHOWN)) {
    print(`    ${differences[0]!.kind.padEnd(9)} ${safeText(name, 80)}`, 14)
    for (const one of differences.slice(0, FIRST_SHOWN))
      if (one.field !== null) print(`              ${fieldText(kind, one)}`, 16)
  }
}

/** `svc_score: source 3, service 99; changed by service` */
function fieldText(kind: Run['kind'], { field, ours, theirs, whose }: NotedDifference): string {
  const valueOf = (json: string | null) => (json === null ? 'nothing' : safeText(json, 200))
  const side = kind === 'import' ? 'source' : 'warehouse'
  return `${safeText(field!, 40)}: ${side} ${valueOf(ours)}, service ${valueOf(theirs)}; changed by ${changedByText(whose)}`
}

/** How the edits of other users are kept instead, where the sync would write over them. */
function keepText(run: Run, groups: RunDifferences['groups']): string {
  const isEdited = groups.some(({ whose, field }) => field !== null && whose !== 'source')
  const { on_conflict: policy = 'ours' } = jobOf(run, 'import').sync.import
  return isEdited && policy === 'ours'
    ? '. It writes over what other users changed; to keep their values: on_conflict: theirs (docs/protect.md)'
    : ''
}

/** What a person does next about what is left, if anything. */
export function nextStepOf(
  context: Pick<CommandContext, 'hint'>,
  run: Run,
  { left, held, groups }: RunDifferences,
): string | null {
  if (sumOfDifferences(left) === 0) return null
  if (run.kind === 'mirror') return `Mend them: ${context.hint(`reconcile ${run.sync} --repair`)}`
  const sendable = sumOfOriginals(left) - held
  if (sendable > 0)
    return `Send what differs: ${context.hint(`retry ${run.id}`)}${keepText(run, groups)}`
  if (held > 0)
    return `Rows are held back, as each may become a second record; why: ${context.hint(`rejects ${run.id}`)}`
  // No link is ever repaired away: the service has no operation that does.
  const links = groups.reduce(
    (sum, group) => sum + (isOfLink(group) && group.kind === 'extra' ? group.differences : 0),
    0,
  )
  if (links > 0 && links >= left.extra)
    return `${countText(links, 'link')} that no row names ${links === 1 ? 'is' : 'are'} left; a wrong one is removed in the CRM`
  return jobOf(run).reconcile?.deleteExtra === true && LIVE_STATES.includes(run.state)
    ? null
    : `Delete what is extra: ${context.hint(`reconcile ${run.sync} --repair --delete-extra`)}`
}
