// The first links that a run has left: waiting, refused, not sent or not kept. Which row asks for them, and for which target.

import { LEFT_LINK_STATES } from '../../core/domain/outcomes.ts'
import { BEFORE_LINKS, type LinkReports, type ReportedLink } from '../../ledger/ledger.ts'
import { safeText, type Terminal } from '../shared/terminal.ts'

/** Links that are named. */
const SHOWN = 5
/** Pages that are read for them: of 10,000 links each. */
const PAGES_MAX = 200

/** The first that are left still. */
export async function readLeftLinks(
  ledger: Pick<LinkReports, 'reportLinks'>,
  run: number,
): Promise<readonly ReportedLink[]> {
  const found: ReportedLink[] = []
  let after = BEFORE_LINKS
  for (let page = 0; page < PAGES_MAX && found.length < SHOWN; page++) {
    const limit = SHOWN - found.length
    const { links, next } = await ledger.reportLinks(run, {
      states: LEFT_LINK_STATES,
      after,
      limit,
      isLeft: true,
    })
    found.push(...links)
    if (next === null) break
    after = next
  }
  return found
}

/** Names them on the screen of the person who asked, and in no log. */
export function printLeftLinks(terminal: Terminal, links: readonly ReportedLink[]): void {
  if (!terminal.isScreen) return
  for (const { state, line, key, target, to, by, reason, code } of links) {
    const row = line === null ? `key ${safeText(key, 40)}` : `line ${line}`
    const found = by === null ? `record ${safeText(target, 60)}` : `${by} ${safeText(target, 60)}`
    const why = [code, reason].filter((text) => text !== null).join(', ')
    terminal.out(
      `    ${state.padEnd(9)} ${row} → ${to} with ${found}${why === '' ? '' : `: ${safeText(why, 100)}`}`,
    )
  }
}
