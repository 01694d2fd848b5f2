// The ports of this machine that parts of a project take: those of `dev`, and that of a worker's metrics.

import type { Config } from '../../../config/index.ts'
import { UI_PORT_ABOVE } from '../../core/temporal/temporal-ui.ts'
import { findParts, readParts, stateDirOf } from '../../dev/parts.ts'
import { choosePorts, SERVICE_PORT, TEMPORAL_PORT, whyNotFree } from '../../dev/ports.ts'
import { safeText } from '../shared/terminal.ts'
import { finding, fine, type DoctorFinding } from './findings.ts'

/** What runs for this folder, as `dev.json` has it, and which ports the next `dev` takes. */
export async function devFindings(configFile: string): Promise<DoctorFinding[]> {
  const subject = 'dev'
  const parts = findParts(configFile)
  if (parts !== null) {
    const service = parts.service === null ? '' : `, Records Service ${parts.service}`
    const what = `"records-sync ${safeText(parts.command, 80)}" (process ${parts.pid}) runs here`
    return [fine(subject, `${what}: Temporal ${parts.temporal.address}${service}`)]
  }
  const left = readParts(stateDirOf(configFile))
  const stale =
    left === null
      ? ''
      : `; dev.json of process ${left.pid} is left over, counts for nothing, and goes with the next start`
  const usual = [TEMPORAL_PORT, TEMPORAL_PORT + UI_PORT_ABOVE, SERVICE_PORT]
  const reasons = await Promise.all(usual.map((port) => whyNotFree(port)))
  const taken = usual.filter((_, at) => reasons[at] !== null)
  const all = `ports ${usual.join(', ')}`
  if (taken.length === 0) return [fine(subject, `does not run; ${all} are free for it${stale}`)]
  const { temporal, service } = await choosePorts({ temporal: undefined, service: undefined })
  const next = `it would take ${temporal}, ${temporal + UI_PORT_ABOVE} and ${service}`
  const are = taken.length === 1 ? 'is' : 'are'
  return [fine(subject, `does not run; ${taken.join(', ')} ${are} taken, so ${next}${stale}`)]
}

/** The address of a worker's metrics: free, or of a worker. */
export async function metricsFinding(
  { worker }: Pick<Config, 'worker'>,
  signal: AbortSignal,
): Promise<DoctorFinding[]> {
  const { listen } = worker
  if (listen === undefined || listen.endsWith(':0')) return []
  const subject = 'worker.listen'
  const colon = listen.lastIndexOf(':')
  const host = listen.slice(0, colon).replace(/^\[(.*)\]$/, '$1')
  const code = await whyNotFree(Number(listen.slice(colon + 1)), host)
  if (code === null) return [fine(subject, `${listen} is free; no worker listens there now`)]
  if (code !== 'EADDRINUSE')
    return [
      finding(
        'failed',
        subject,
        `${listen} cannot be listened at (${code})`,
        'Write an address of this machine and a port above 1023, such as worker: { listen: 127.0.0.1:9464 }',
      ),
    ]
  const ready = await readiness(listen, signal)
  if (ready === null)
    return [
      finding(
        'failed',
        subject,
        `another program listens at ${listen}`,
        'Write another port, such as worker: { listen: 127.0.0.1:9465 }',
      ),
    ]
  const ill = Object.keys(ready).filter((part) => ready[part] !== true)
  if (ill.length === 0) return [fine(subject, `a worker answers at ${listen}, and is ready`)]
  return [
    finding(
      'failed',
      subject,
      `the worker at ${listen} is not ready: ${safeText(ill.join(', '), 200)}`,
      'Read its log; docs/monitoring.md says what each part is',
    ),
  ]
}

/** The parts of a worker, and whether each is ready; null if no worker answers. */
async function readiness(
  listen: string,
  signal: AbortSignal,
): Promise<Record<string, boolean> | null> {
  const place = listen.replace(/^(0\.0\.0\.0|\[::\]):/, '127.0.0.1:')
  try {
    const answer = await fetch(`http://${place}/readyz`, { signal, redirect: 'error' })
    const { parts } = (await answer.json()) as { parts?: Record<string, boolean> }
    return typeof parts === 'object' && 'ledger' in parts ? parts : null
  } catch {
    return null
  }
}
