// A backfill: an import or a mirror that a person starts, limited to a window or to object types, and that gives way to other
// runs. People write its input in the Temporal UI, so it accepts what it can understand, answers an empty input with what they
// can write, and refuses the rest at once.

import { proxyActivities, workflowInfo } from '@temporalio/workflow'
import { z } from 'zod'
import type { SyncSummary } from '../activities/index.ts'
import type { ShortActivities } from './queues.ts'
import { nearestWord } from '../src/core/suggest.ts'
import { parseWindowInstant } from '../src/core/window-instant.ts'
import { runImport } from './import.ts'
import { MirrorTuningInput, TuningInput, type ImportResult, type MirrorResult } from './messages.ts'
import { runMirror } from './mirror.ts'
import { TEMPLATE_MEMO } from './names.ts'
import { stacklessFailure, inputIssues, SHORT } from './run.ts'

interface Template {
  readonly sync: string
  readonly from?: string
  readonly to?: string
}

const TEMPLATE: Template = { sync: 'crm_copy', from: '2026-01-01', to: '2026-02-01' }

/** The answer to an empty input. */
export interface BackfillHelp {
  /** The input, filled in for each sync. */
  readonly write: readonly Template[]
  readonly settings: Readonly<Record<string, string>>
  readonly syncs: readonly SyncSummary[]
}

const SETTINGS = {
  sync: 'name of the sync',
  from: 'first day or time, such as 2026-01-01 or 2026-01-01T06:00:00Z; in UTC where nothing is said',
  to: 'day or time before which it ends; nothing: no end',
  object_types: 'of a mirror: a list of those to read; nothing: all of them',
  full: 'of a mirror: true reads everything again',
  overwrite_newer:
    'of an import: true also writes rows whose key was accepted with a greater watermark',
} as const

const nothing = (value: unknown) => (value === '' || value === null ? undefined : value)

/** A day or an instant; a day is its beginning in UTC. */
const Moment = z.preprocess(
  nothing,
  z
    .string({ error: 'expected a day such as "2026-01-01", in quotes' })
    .trim()
    .refine(
      (text) => parseWindowInstant(text) !== null,
      'expected a day such as 2026-01-01, or a time such as 2026-01-01T06:00:00Z',
    )
    .optional(),
)

const Yes = z.union([z.boolean(), z.stringbool()], { error: 'expected true or false' })

const BackfillInput = z.object({
  sync: z.preprocess(nothing, z.string({ error: 'expected the name of a sync' }).trim().optional()),
  from: Moment,
  to: Moment,
  object_types: z.preprocess(
    (value) => (typeof value === 'string' && value !== '' ? value.split(/[\s,]+/) : nothing(value)),
    z
      .array(z.string().trim().min(1), {
        error: 'expected a list of names, such as ["svc_contact"]',
      })
      .min(1, 'expected at least one name')
      .optional(),
  ),
  full: Yes.default(false),
  overwrite_newer: Yes.default(false),
  tuning: z.record(z.string(), z.unknown()).default({}),
})

/** The input of a sync, filled in. */
const templateOf = ({ sync, window }: SyncSummary): Template =>
  window === 'yes' ? { ...TEMPLATE, sync } : { sync }

/** Runs a backfill. Input: `{"sync": "crm_copy", "from": "2026-01-01", "to": "2026-02-01"}`. */
export async function backfill(
  input?: unknown,
): Promise<ImportResult | MirrorResult | BackfillHelp | { readonly template: unknown }> {
  const { listSyncs, checkBackfill } = proxyActivities<ShortActivities>(SHORT)
  const list = () => listSyncs.executeWithOptions({ summary: 'which syncs there are' }, [])
  const given: unknown = typeof input === 'string' ? { sync: input } : (input ?? {})
  /** The problem comes first; the details hold what to write instead, ready to copy. */
  const refuse = async (problem: string): Promise<never> => {
    const syncs = await list().catch(() => [])
    const names = syncs.map(({ sync }) => sync)
    // The name may be given together with a misspelt setting.
    const words = Object.values(given ?? {}).filter((value) => typeof value === 'string')
    const near = words.map((word) => nearestWord(word, names)).find((name) => name !== undefined)
    const meant = syncs.find(({ sync }) => sync === near) ?? syncs[0]
    throw stacklessFailure(
      `${problem}${problem.endsWith('?') ? '' : '.'} Copy what to write from below`,
      'InvalidInput',
      [{ write: meant ? templateOf(meant) : TEMPLATE }],
    )
  }
  const unknown = unknownOf(given)
  if (unknown !== null) return await refuse(unknown)
  const parsed = BackfillInput.safeParse(given)
  if (!parsed.success) return await refuse(inputIssues(parsed.error))
  const { sync, from, to, object_types: only = null, full, tuning } = parsed.data
  const overwriteNewer = parsed.data.overwrite_newer === true
  if (sync === undefined) {
    const syncs = await list()
    return { write: syncs.map(templateOf), settings: SETTINGS, syncs }
  }
  if (
    from !== undefined &&
    to !== undefined &&
    parseWindowInstant(from)! >= parseWindowInstant(to)!
  )
    return await refuse('from has to be before to')
  if (full && (from !== undefined || to !== undefined))
    return await refuse('full reads everything; leave out from and to, or full')
  const window =
    from === undefined && to === undefined ? null : { from: from ?? null, to: to ?? null }
  const { kind, problem } = await checkBackfill.executeWithOptions({ summary: `check ${sync}` }, [
    { sync, window, only, full, overwriteNewer },
  ])
  if (kind === null || problem !== null) return await refuse(problem ?? 'there is no such sync')
  const tuned = (kind === 'import' ? TuningInput : MirrorTuningInput).safeParse(tuning)
  if (!tuned.success) return await refuse(`tuning: ${inputIssues(tuned.error)}`)
  // A person who starts a run like this one gets its input, but not its memo.
  if (workflowInfo().memo?.[TEMPLATE_MEMO] === true) return { template: given }
  const job = { sync, tuning: tuned.data, priority: 'backfill' as const }
  if (kind === 'import')
    return await runImport(job, { window, only: null, ...(overwriteNewer && { overwriteNewer }) })
  const instants = window && {
    from: window.from === null ? null : parseWindowInstant(window.from),
    to: window.to === null ? null : parseWindowInstant(window.to),
  }
  return await runMirror({ ...job, full }, { window: instants, only })
}

/** Refuses a misspelt setting: the run would otherwise ignore it, although a person meant to limit the run. */
function unknownOf(input: unknown): string | null {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return null
  const known = [...Object.keys(SETTINGS), 'tuning']
  const unknown = Object.keys(input).find((key) => !known.includes(key))
  if (unknown === undefined) return null
  const near = nearestWord(unknown, known)
  const name = unknown.replaceAll(/[^\w -]/g, '?').slice(0, 40)
  return `${name} is unknown; ${near === undefined ? `valid: ${known.join(', ')}` : `did you mean ${near}?`}`
}
