// `records-sync links`: addresses that open Temporal's start form, filled in for a backfill of each sync, and for an undo. What the
// form is filled in with is the input of the newest run of an id, so each has a run that does nothing: its template, which its
// memo marks, because a memo is the one thing that the form does not copy.

import {
  WorkflowExecutionAlreadyStartedError,
  type Client,
  type WorkflowExecutionDescription,
} from '@temporalio/client'
import { backfill, TEMPLATE_MEMO, undo } from '../../../workflows/names.ts'
import { backfillId, taskQueueOf, undoId } from '../../../workflows/queues.ts'
import { ConfigError, SyncError } from '../../core/errors.ts'
import { LIVE_STATES, statesToLookAt, type RunLook } from '../../core/domain/run-states.ts'
import { SYNC_STATE } from '../../core/temporal/search-attributes.ts'
import type { SyncConfig } from '../../../config/index.ts'
import { listLink, startLink, uiAddress } from '../../core/temporal/temporal-ui.ts'
import { windowProblem } from '../../sources/index.ts'
import { describeWorkflow } from '../../temporal/is-live.ts'
import { connectTemporal, EXIT, temporalOf, type CommandContext } from '../shared/context.ts'
import { innermostMessage } from '../shared/follow.ts'
import { requireWorker } from '../../actions/project.ts'
import { safeText, table } from '../shared/terminal.ts'
import { printJson } from '../json.ts'

/** A template is started again when it is older: servers forget runs, development servers after a day. */
const templateAgeMaxMs = 12 * 3_600_000
const templateMaxMs = 30_000

const LISTS: Readonly<Record<RunLook, string>> = {
  blocked: 'blocked',
  rejects: 'with rejects',
  differences: 'with differences',
}

/** No run has this number: whoever opens the form writes the one that is to be taken back. */
const UNDO_INPUT = { run: 0 }

type Input = Readonly<Record<string, string | number>>

/** What the form is filled in with: the last whole month, if the sync can be limited to a time. */
export function backfillTemplate(sync: SyncConfig, now: Date): Readonly<Record<string, string>> {
  const hasWindow = sync.kind === 'mirror' || windowProblem(sync.import.from) === null
  if (!hasWindow) return { sync: sync.name }
  const month = (offset: number) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1))
      .toISOString()
      .slice(0, 10)
  return { sync: sync.name, from: month(-1), to: month(0) }
}

const uiUnknown = (file: string, address: string) =>
  new ConfigError(file, [
    {
      path: 'temporal.ui',
      message: `temporal.ui: expected the address of the Temporal UI, such as https://temporal.example.com; it does not follow from that of the server, ${address}`,
    },
  ])

export async function backfillLinks(context: CommandContext): Promise<number> {
  const { terminal } = context
  const config = await context.loadConfig()
  const temporal = temporalOf(config, context.env)
  const ui = uiAddress(temporal.address, config.temporal.ui)
  if (ui === null) throw uiUnknown(config.file, temporal.address)
  const place = { ui, namespace: temporal.namespace }
  const { client, close } = await connectTemporal(temporal)
  try {
    const { id: project } = await requireWorker(context, client, temporal)
    const taskQueue = taskQueueOf(project)
    const found = await Promise.all(
      Object.values(config.syncs).map(async (sync) => {
        const input = backfillTemplate(sync, new Date())
        // Two at a time would be refused by the ledger anyway.
        const workflowId = backfillId(sync.name, project)
        const form = { taskQueue, workflowType: backfill, workflowId }
        const running = await ensureTemplate(client, form, input)
        const link = startLink(place, form)
        return { sync: sync.name, link, input, running }
      }),
    )
    const undoForm = { taskQueue, workflowType: undo, workflowId: undoId(project) }
    const undoing = {
      running: await ensureTemplate(client, undoForm, UNDO_INPUT),
      link: startLink(place, undoForm),
      input: UNDO_INPUT,
    }
    const lists = statesToLookAt.map(({ state, look }) => {
      const filter = { TaskQueue: taskQueue, [SYNC_STATE]: state }
      // A run that was blocked to its end keeps this state in its search attribute.
      const isLive = LIVE_STATES.includes(state)
      const link = listLink(place, { ...filter, ...(isLive && { ExecutionStatus: 'Running' }) })
      return { look, link }
    })
    if (context.json) {
      printJson(terminal, {
        syncs: found,
        undo: undoing,
        lists: Object.fromEntries(lists.map(({ look, link }) => [look, link])),
      })
      return EXIT.done
    }
    terminal.out(
      table(
        ['backfill of', 'opens the start form, filled in'],
        found.map(({ sync, link, running }) => [running ? `${sync} (runs now)` : sync, link]),
      ),
    )
    terminal.out()
    terminal.out(
      table(
        ['undo of', 'opens the start form; write the number of the run'],
        [[undoing.running ? 'a run (one runs now)' : 'a run', undoing.link]],
      ),
    )
    terminal.out('In the form: change what you need, press Tab, then Start Workflow.')
    terminal.out()
    terminal.out(
      table(
        ['runs', 'opens the list'],
        lists.map(({ look, link }) => [LISTS[look], link]),
      ),
    )
    return EXIT.done
  } finally {
    await close()
  }
}

/**
 * Makes sure that the newest run of the id is a template with this input, or one of a person that runs now.
 * @returns whether one runs
 * @throws SyncError `template_failed`
 */
async function ensureTemplate(
  client: Client,
  {
    taskQueue,
    workflowType,
    workflowId,
  }: { readonly taskQueue: string; readonly workflowType: string; readonly workflowId: string },
  input: Input,
): Promise<boolean> {
  const newest = await describeWorkflow(client, { workflowId })
  if (newest?.status.name === 'RUNNING') return true
  if (newest !== null && (await isTemplate(client, newest, input))) return false
  try {
    const handle = await client.workflow.start(workflowType, {
      taskQueue,
      workflowId,
      args: [input],
      memo: { [TEMPLATE_MEMO]: true },
      workflowExecutionTimeout: templateMaxMs,
    })
    await client.withDeadline(Date.now() + templateMaxMs, () => handle.result())
    return false
  } catch (error) {
    // A person started it in the meantime.
    if (error instanceof WorkflowExecutionAlreadyStartedError) return true
    throw new SyncError(
      'template_failed',
      `The template ${workflowId} was not made: ${safeText(innermostMessage(error), 400)}. See the worker's log`,
    )
  }
}

/** Whether the form would be filled in with `input` for some time yet. */
async function isTemplate(
  client: Client,
  run: WorkflowExecutionDescription,
  input: Input,
): Promise<boolean> {
  if (run.status.name !== 'COMPLETED' || run.memo?.[TEMPLATE_MEMO] !== true) return false
  if (Date.now() - run.startTime.getTime() > templateAgeMaxMs) return false
  const result: unknown = await client.workflow.getHandle(run.workflowId, run.runId).result()
  return JSON.stringify(result) === JSON.stringify({ template: input })
}
