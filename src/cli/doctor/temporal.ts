// The Temporal server: whether it answers, slowly or as something else; what our runs need there; and who works for this project.

import type { Client } from '@temporalio/client'
import type { Config } from '../../../config/index.ts'
import { taskQueueOf } from '../../../workflows/queues.ts'
import { SyncError, TemporalUnreachable } from '../../core/errors.ts'
import { connectClient } from '../../temporal/client.ts'
import { codeHash } from '../../temporal/code-hash.ts'
import { otherProjects, type Sign } from '../../temporal/projects.ts'
import { missingSearchAttributes } from '../../temporal/search-attributes.ts'
import { DEFAULT_ORIGIN, type TemporalSettings } from '../../temporal/settings.ts'
import { temporalOf, withLedger, type CommandContext } from '../shared/context.ts'
import { findProject, hasWorker } from '../../actions/project.ts'
import { safeText } from '../shared/terminal.ts'
import { workersOf } from '../../actions/worked-on.ts'
import { finding, fine, ownMessage, type DoctorFinding } from './findings.ts'

const SUBJECT = 'Temporal'
const WORKER = 'worker'

export async function temporalFindings(
  context: CommandContext,
  config: Pick<Config, 'temporal' | 'file'>,
  { hasConfig, maxMs }: { readonly hasConfig: boolean; readonly maxMs: number },
): Promise<DoctorFinding[]> {
  const settings = temporalOf(config, context.env)
  let connected
  try {
    connected = await connectClient(settings, { maxMs: 0, firstMs: maxMs, report: () => {} })
  } catch (error) {
    return [connectionFinding(context, settings, { error, maxMs })]
  }
  const { client, close } = connected
  try {
    const { serverVersion } = await client.workflowService.getSystemInfo({})
    const version = serverVersion ? `${safeText(serverVersion, 30)} ` : ''
    return [
      fine(SUBJECT, `${version}at ${placeText(settings)}, namespace ${settings.namespace}`),
      await attributesFinding(context, client, settings),
      ...(hasConfig ? await workerFindings(context, client, settings) : []),
    ]
  } finally {
    await close()
  }
}

/** `127.0.0.1:7233 (TEMPORAL_ADDRESS)` */
function placeText({ address, origin }: TemporalSettings): string {
  switch (origin) {
    case undefined:
    case DEFAULT_ORIGIN:
      return `${address} (the usual place; nothing names another)`
    case 'environment':
      return `${address} (TEMPORAL_ADDRESS)`
    case 'dev':
      return `${address} (of the parts that run for this folder)`
    default:
      return `${address} (${origin})`
  }
}

/** Stopped, slow and foreign ones are told apart. */
export function connectionFinding(
  { hint }: Pick<CommandContext, 'hint'>,
  settings: TemporalSettings,
  { error, maxMs }: { readonly error: unknown; readonly maxMs: number },
): DoctorFinding {
  const place = placeText(settings)
  const isNamed = settings.origin !== undefined && settings.origin !== DEFAULT_ORIGIN
  const without = `${hint('run SYNC --local')} brings one for a run, ${hint('dev')} one that stays`
  const correct = 'correct the address where it is named'
  switch (error instanceof SyncError ? error.code : null) {
    case 'temporal_unreachable': {
      const why = error instanceof TemporalUnreachable && error.why !== null ? `: ${error.why}` : ''
      const nothing = `nothing answers at ${place}${why}`
      return isNamed
        ? finding('failed', SUBJECT, nothing, `Start it, or ${correct}`)
        : finding('warning', SUBJECT, nothing, `Nothing: ${without}`)
    }
    case 'temporal_slow':
      return finding(
        'failed',
        SUBJECT,
        `${place} takes connections and does not answer within ${maxMs / 1_000} s: busy, or not a Temporal server`,
        `See which program has that port. A Temporal server: wait, or give it more processor and a faster disk. Another program: ${isNamed ? correct : without}`,
      )
    case 'temporal_foreign':
      return finding(
        isNamed ? 'failed' : 'warning',
        SUBJECT,
        `${ownMessage(error).split(';')[0]}`,
        isNamed ? `Stop that program, or ${correct}` : `Nothing: ${without}`,
      )
    default:
      return finding('failed', SUBJECT, ownMessage(error))
  }
}

async function attributesFinding(
  { hint }: CommandContext,
  client: Client,
  { namespace }: TemporalSettings,
): Promise<DoctorFinding> {
  const subject = 'search attributes'
  try {
    const missing = await missingSearchAttributes(client.connection, namespace)
    if (missing.length === 0) return fine(subject, `namespace ${namespace} has all of our runs`)
    return finding(
      'warning',
      subject,
      `namespace ${namespace} lacks ${missing.join(', ')}`,
      `Start a worker, which registers them: ${hint('worker')}`,
    )
  } catch (error) {
    return finding('failed', subject, ownMessage(error))
  }
}

/** Whether a worker of this project polls, and runs the code that this command runs. */
async function workerFindings(
  context: CommandContext,
  client: Client,
  { origin, address }: TemporalSettings,
): Promise<DoctorFinding[]> {
  const { hint } = context
  const project = await findProject(context)
  const isPolled = project !== null && (await hasWorker(client, taskQueueOf(project.id)))
  const own = project === null ? [] : await workersOf(client, project.id)
  if (!isPolled || own.length === 0) {
    const others = await otherProjects(client, project?.id ?? null).catch(() => [])
    const whose = others.length === 0 ? '' : `; the workers there serve ${others.join(', ')}`
    const isNamed = origin !== undefined && origin !== DEFAULT_ORIGIN
    return [
      finding(
        isNamed ? 'failed' : 'warning',
        WORKER,
        `none of this project polls at ${address}${safeText(whose, 400)}`,
        `${hint('worker')} starts one, ${hint('run SYNC --local')} brings one for a run`,
      ),
    ]
  }
  const ours = { code: codeHash(), copy: await withLedger(context, (ledger) => ledger.copy()) }
  return own.map((sign) => workerFinding(sign, ours))
}

/** @param ours the code of this command, and the copy of the ledger that this folder has */
export function workerFinding(
  { pid, host, code, copy, label }: Sign,
  ours: { readonly code: string; readonly copy: string },
): DoctorFinding {
  const who = `process ${pid} on ${safeText(host, 80)}, for ${safeText(label, 120)}`
  if (copy !== ours.copy)
    return finding(
      'failed',
      WORKER,
      `${who}, works with another copy of this ledger: it takes the runs that are started here, and their books are there`,
      'Give this folder a ledger of its own ("ledger:" in its configuration), or stop that worker',
    )
  if (code === ours.code) return fine(WORKER, `${who}, of this build (code#${code})`)
  return finding(
    'warning',
    WORKER,
    `${who}, is of another build (code#${code}); this is code#${ours.code}`,
    'Stop that worker and start it again, unless it is kept for the runs that it began (docs/upgrades.md)',
  )
}
