// What the story and the tour of the demo share: its folder, the corrections of a person, and the work of people in the CRM.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { RecordsClient } from '../../client/index.ts'
import { LIVE_STATES } from '../../core/domain/books.ts'
import { SyncError } from '../../core/errors.ts'
import { systemClock } from '../../core/ports.ts'
import type { Run } from '../../ledger/ledger.ts'
import type { RunningService } from '../../service/index.ts'
import { EXIT, withLedger, type CommandContext } from '../shared/context.ts'
import type { ReconcileOptions } from './reconcile.ts'
import type { UndoOptions } from './undo.ts'

/** What the steps of the demo share. */
export interface Demo {
  readonly context: CommandContext
  readonly folder: string
  readonly service: RunningService
  readonly temporalUi: string | null
  /** Aborts when a person ends the demo. */
  readonly stopped: AbortSignal
  title(text: string): void
  /** Does what a command does. @throws DemoEnd if its exit code is above `codeMax`, or a person has ended the demo */
  step(work: () => Promise<number>, codeMax?: number): Promise<void>
}

/** The demo goes no further. */
export class DemoEnd extends Error {
  readonly exitCode: number

  constructor(exitCode: number) {
    super('the demo has ended')
    this.exitCode = exitCode
  }
}

/** Where the rejects of a sync's run are written. */
export const rejectsFolder = (folder: string, sync: string): string => join(folder, 'rejects', sync)

export const ONLY_COMPARE: ReconcileOptions = {
  repair: false,
  deleteExtra: false,
  full: false,
  detach: false,
}

export const UNDO_ALL: UndoOptions = {
  dryRun: false,
  yes: true,
  pauseSchedule: false,
  detach: false,
}

/** A kind of mistake: whose rows have it, what its file of rejects is called, and how a person corrects the cells. */
interface Mistake {
  readonly sync: string
  readonly run: string
  readonly file: string
  readonly corrections: readonly (readonly [wrong: string, right: string])[]
}

/** Runs as `run --all` numbers them. */
export const MISTAKES: readonly Mistake[] = [
  { sync: 'companies', run: '1', file: 'not_an_amount', corrections: [['1.234,50', '1234,50']] },
  {
    sync: 'contacts',
    run: '2',
    file: 'not_an_email',
    corrections: [
      ['not an address', 'someone@example.com'],
      [';nobody@', ''],
    ],
  },
]

/** The file of rejects with the rows of a mistake. */
export function rejectsOf(folder: string, { sync, file }: Mistake): string {
  const directory = rejectsFolder(folder, sync)
  const name = readdirSync(directory).find((one) => one.includes(file))!
  return join(directory, name)
}

/** Corrects the cells of a file, as a person does in a spreadsheet. */
export function correct(file: string, { corrections }: Mistake): void {
  const cells = readFileSync(file, 'utf8')
  writeFileSync(
    file,
    corrections.reduce((all, [wrong, right]) => all.replaceAll(wrong, right), cells),
  )
}

/** The run that makes the waiting links of a sync begins by itself, and soon after the run that has written their targets. */
const LINKS_MAX_MS = 5 * 60_000
const LINKS_POLL_MS = 200

/** The run of `links` that began by itself, once it has ended. @throws DemoEnd if a person has ended the demo */
export async function untilLinked({ context, stopped }: Demo, sync: string): Promise<Run> {
  const deadline = systemClock.now() + LINKS_MAX_MS
  while (systemClock.now() < deadline) {
    const [last] = await withLedger(context, (ledger) => ledger.runs({ sync, limit: 1 }))
    if (last?.purpose === 'links' && !LIVE_STATES.includes(last.state)) return last
    await sleep(LINKS_POLL_MS, undefined, { signal: stopped }).catch(() => {})
    if (stopped.aborted) throw new DemoEnd(EXIT.unknown)
  }
  throw new SyncError('internal_error', `no run has made the links of ${sync}`)
}

interface WorkInCrm {
  /** When the first record was changed, by the service's clock. */
  readonly since: string
  /** Ids of records. */
  readonly changed: readonly string[]
  readonly deleted: readonly string[]
}

const CHANGED = ['D-00001', 'D-00002']
const DELETED = ['D-00004']

/** Changes two deals and deletes one. */
export async function workInCrm({ url, key }: RunningService): Promise<WorkInCrm> {
  const client = new RecordsClient({ baseUrl: url, key })
  const idsOf = async (value: readonly string[]) => {
    const filter = { property: 'svc_external_id', op: 'in', value } as const
    const { data } = await client.queryRecords('svc_deal', { filter })
    return data.map(({ id }) => id)
  }
  try {
    const changed = await idsOf(CHANGED)
    const deleted = await idsOf(DELETED)
    let since: string | null = null
    for (const id of changed) {
      const { properties } = await client.updateRecord('svc_deal', id, {
        svc_stage: 'won',
      })
      since ??= String(properties['svc_updated_at'])
    }
    for (const id of deleted) await client.deleteRecord('svc_deal', id)
    return { since: since!, changed, deleted }
  } finally {
    await client.close()
  }
}

/** The sync whose file is corrected after its runs. */
export const SOURCE_SYNC = 'companies'

/** What its owner corrects in it: two values, one that turns out to be wrong, and a row that was not there. */
const SOURCE_EDITS: readonly (readonly [old: string, corrected: string])[] = [
  ['Boulangerie 1 AB', 'Boulangerie Une AB'],
  ['2006-08-12;former', '2006-08-12;customer'],
  ['1996-11-10;customer', '1996-11-10;former'],
]
const ADDED_ROW =
  'company251.example.com;K-0251;Boulangerie 251 AB;info@company251.example.com;;;prospect;;'

/** Corrects the file of a sync that has run. */
export function correctSource(folder: string): void {
  const file = join(folder, `${SOURCE_SYNC}.csv`)
  const rows = SOURCE_EDITS.reduce(
    (all, [old, corrected]) => all.replace(old, corrected),
    readFileSync(file, 'utf8'),
  )
  writeFileSync(file, `${rows.trimEnd()}\n${ADDED_ROW}\n`)
}

/** What a person knows better than the file. */
const EDITED = {
  key: 'company6.example.com',
  property: 'svc_lifecycle_stage',
  value: 'prospect',
} as const

/** Changes a company. Returns what was changed. */
export async function editInCrm({ url, key }: RunningService): Promise<typeof EDITED> {
  const client = new RecordsClient({ baseUrl: url, key })
  try {
    const filter = { property: 'svc_domain', op: 'eq', value: EDITED.key } as const
    const { data } = await client.queryRecords('svc_company', { filter })
    await client.updateRecord('svc_company', data[0]!.id, { [EDITED.property]: EDITED.value })
    return EDITED
  } finally {
    await client.close()
  }
}
