// A group as the terminal shows it: a line for each sync, in their order. Promise kept here: no line is wider than the screen, and
// what does not fit is counted.

import { isComplete, LIVE_STATES } from '../../core/domain/books.ts'
import type { GroupedSync } from '../../core/domain/group-state.ts'
import { safeText, wholeParts, type Terminal } from '../shared/terminal.ts'

/** Of a live run: its line, as its ledger has it. */
export type LiveTexts = ReadonlyMap<string, string>

const isLive = ({ state }: GroupedSync): boolean =>
  state !== 'waiting' && LIVE_STATES.includes(state)

/** What a sync waits for: those before it that have not ended, or one of the places. */
function waitsFor({ after }: GroupedSync, syncs: readonly GroupedSync[]): string {
  const open = after.filter((name) => {
    const state = syncs.find(({ sync }) => sync === name)?.state
    return state === 'waiting' || (state !== undefined && LIVE_STATES.includes(state))
  })
  return open.length > 0 ? `waits for ${open.join(', ')}` : 'waits for a place'
}

/** `companies  complete  run 12` */
export function groupedText(one: GroupedSync, syncs: readonly GroupedSync[]): string {
  const { sync, state, run, reason } = one
  if (state === 'waiting') return `${sync}  ${waitsFor(one, syncs)}`
  // A skip names itself.
  const said = state === 'skipped' && reason !== null ? [reason] : [state.replaceAll('_', ' ')]
  const why = state === 'skipped' || reason === null ? [] : [safeText(reason, 300)]
  return [sync, ...said, ...(run === null ? [] : [`run ${run}`]), ...why].join('  ')
}

/** What is drawn at the foot of the screen: live ones first if not all fit, then those that wait, then those that have ended. */
export function groupFrame(
  syncs: readonly GroupedSync[],
  live: LiveTexts,
  {
    width,
    height,
    style,
  }: { readonly width: number; readonly height: number; readonly style: Terminal['style'] },
): string[] {
  const room = Math.max(1, height - 2)
  const rank = (one: GroupedSync) => (isLive(one) ? 0 : one.state === 'waiting' ? 1 : 2)
  const chosen = new Set(
    syncs.length <= room
      ? syncs
      : syncs.toSorted((a, b) => rank(a) - rank(b)).slice(0, Math.max(1, room - 1)),
  )
  const lines = syncs
    .filter((one) => chosen.has(one))
    .map((one) => {
      const text = (isLive(one) && live.get(one.sync)) || groupedText(one, syncs)
      const line = wholeParts(text, width)
      if (one.state === 'waiting') return style('dim', line)
      if (isLive(one)) return line
      return style(isComplete(one.state) ? 'green' : 'red', line)
    })
  const hidden = syncs.length - chosen.size
  return hidden === 0 ? lines : [...lines, style('dim', wholeParts(`and ${hidden} more`, width))]
}

/** Where there is no screen: a line for each sync whose state is another one than before. */
export function groupChanges(print: (line: string) => void) {
  const last = new Map<string, string>()
  return (syncs: readonly GroupedSync[], live: LiveTexts): void => {
    for (const one of syncs) {
      const text = (isLive(one) && live.get(one.sync)) || groupedText(one, syncs)
      if (last.get(one.sync) === text) continue
      last.set(one.sync, text)
      print(text)
    }
  }
}
