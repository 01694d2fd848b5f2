// What `doctor` finds. Promise kept here: all probes run at once, and each has a deadline, so that one that hangs holds up no other.

import { SyncError } from '../../core/errors.ts'

/** `warning`: a command mends it by itself, or it harms later. `failed`: what needs it does not work. */
export type Verdict = 'ok' | 'warning' | 'failed'

export interface DoctorFinding {
  readonly subject: string
  readonly verdict: Verdict
  readonly message: string
  /** What to do: a command, or a setting to write. Null: nothing, or the message says it. */
  readonly action: string | null
}

export interface Probe {
  readonly subject: string
  /** What to do if it does not end in time. */
  readonly late: string
  look(signal: AbortSignal): Promise<readonly DoctorFinding[]>
}

export const fine = (subject: string, message: string): DoctorFinding => ({
  subject,
  verdict: 'ok',
  message,
  action: null,
})

export const finding = (
  verdict: Exclude<Verdict, 'ok'>,
  subject: string,
  message: string,
  action: string | null = null,
): DoctorFinding => ({ subject, verdict, message, action })

/** What is wrong, in our words: a foreign message may quote anything. */
export const ownMessage = (error: unknown): string =>
  error instanceof SyncError
    ? error.message
    : `an unexpected ${error instanceof Error ? error.name : typeof error}`

/** The findings of all probes, in the order of the probes, `maxMs` after the start at the latest. */
export async function runProbes(
  probes: readonly Probe[],
  maxMs: number,
): Promise<readonly DoctorFinding[]> {
  return (await Promise.all(probes.map((probe) => inTime(probe, maxMs)))).flat()
}

async function inTime(
  { subject, late, look }: Probe,
  maxMs: number,
): Promise<readonly DoctorFinding[]> {
  const over = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<readonly DoctorFinding[]>((resolve) => {
    timer = setTimeout(() => {
      over.abort()
      resolve([finding('failed', subject, `no answer within ${maxMs / 1_000} s`, late)])
    }, maxMs)
  })
  try {
    return await Promise.race([look(over.signal), tooLate])
  } catch (error) {
    return [finding('failed', subject, ownMessage(error))]
  } finally {
    clearTimeout(timer)
  }
}
