// One after the other at the real server: a statement that waits for a lock stands still with its process of the server, and goes on when it
// is its turn. Otherwise those that one `COMMIT` lets go on would run at once, and the machine would decide which of them is first.

import { platform } from 'node:os'
import type { Session } from './session.ts'

const { setTimeout: realTimeout, clearTimeout: realClear } = globalThis

/** Real time in which a statement is mostly answered; then it is asked whether it waits. */
const LOOK_MS = 4
/** A statement that is neither answered nor waiting: of real time, far more than the slowest needs. */
const LOOKS_MAX = 15_000

/** Statements whose end is not in sight. */
function stuck({ number, process, busy }: Session): Error {
  const text = busy?.texts.join('; ').replaceAll(/\s+/g, ' ').slice(0, 200)
  return new Error(
    `a statement is neither answered nor waiting for a lock: session ${number} of ${process.name}: ${text}`,
  )
}

/** Windows has no such signals: there, who goes on first is left to it. */
const signal = (session: Session, name: 'SIGSTOP' | 'SIGCONT'): void => {
  if (platform() !== 'win32') process.kill(session.pid, name)
}

/** It waits for a lock: nothing but its lock is its own now, and others are carried out. */
function stopAt(session: Session, blockers: readonly number[]): void {
  session.stoppedAt = blockers
  signal(session, 'SIGSTOP')
}

export function goOn(session: Session): void {
  if (session.stoppedAt === null) return
  session.stoppedAt = null
  signal(session, 'SIGCONT')
}

/** @param blockersOf of each, the processes of the server that it waits for */
export async function runOn(
  session: Session,
  blockersOf: (sessions: readonly Session[]) => readonly (readonly number[])[],
): Promise<void> {
  goOn(session)
  let seen = ''
  for (let looks = 0; looks < LOOKS_MAX; looks++) {
    if (seen === '') await within(session.answering, LOOK_MS)
    if (session.isAnswered) return
    const blockers = session.pid === 0 ? [] : blockersOf([session])[0]!
    const now = blockers.join()
    // Twice, with nothing in between: a lock may be given on between two looks.
    if (now !== '' && now === seen) return stopAt(session, blockers)
    seen = now
  }
  throw stuck(session)
}

/** Until it is answered, whatever it is. */
export async function untilAnswered(session: Session): Promise<void> {
  goOn(session)
  for (let looks = 0; looks < LOOKS_MAX && !session.isAnswered; looks++)
    await within(session.answering, LOOK_MS)
  if (!session.isAnswered) throw stuck(session)
}

/** Until it settles, or so long of real time has passed. */
async function within(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => (timer = realTimeout(resolve, ms)))
  await Promise.race([work, late])
  realClear(timer)
}
