// Collisions: two items of a run whose keys differ for us and whose record is one for the service (it normalises more than we
// do). Their batches may have been carried out in any order, so the later row is sent once more, alone, last. Promise kept here: where a
// run looks rows up, this sending has a look-up of its own (last-rows.ts).

import { OPERATIONS } from '../../contract/index.ts'
import type { BatchAnswer } from '../../client/index.ts'
import type { Deadline } from '../../core/deadline.ts'
import { SECOND_RECORD } from '../../core/domain/held-back.ts'
import { isWritten } from '../../core/domain/outcomes.ts'
import type {
  AcceptedRecords,
  BeforeImages,
  ItemNote,
  ItemOutcome,
  LedgerIdentity,
  PlannedItem,
  Runs,
  StepStates,
  Verification,
} from '../../ledger/ledger.ts'
import { afterReader } from '../look/after-write.ts'
import { ANSWERED_OTHER_RECORD, answerReader } from '../look/answered.ts'
import { operationOfMode, writesRecords } from '../../core/domain/import-modes.ts'
import { rowFinder, type FoundRow } from '../look/found-records.ts'
import { lookThenSend, sendUntil } from './fresh-look.ts'
import { lastRowReader, type LastRow } from '../judge/last-rows.ts'
import { bodyText, sendBody } from './send.ts'
import { sendIfRunIsOpen } from './send-deadline.ts'
import { blankOutcome, itemOutcome } from '../look/outcome.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import { stepPosition } from '../step-position.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { parsed } from '../look/look-up.ts'
import { SEVERAL_RECORDS } from '../look/read-back.ts'

type Deps = ImportDeps<
  AcceptedRecords & BeforeImages & LedgerIdentity & Runs & StepStates & Verification
>

/** Reason of a row whose record holds the values of a later row. */
const SAME_RECORD = 'same_record'
const overwrittenBy = (line: number) =>
  `row ${line} has another key and the same record at the service; it comes last, and the record holds its values`

const REFUSED = {
  reason: 'twin_refused',
  detail:
    'another row of the run has the same record at the service; this one comes last, and the service refused it when it was sent again',
  column: null,
  value: null,
}

const MOVED = {
  reason: ANSWERED_OTHER_RECORD,
  detail:
    'another row of the run had the same record at the service, and the record has another key now, or is gone; the next run looks at the row again',
  column: null,
  value: null,
}

const OTHER_ROW =
  'another row of the run has the same record at the service, and this one was not sent again after it'

const stillSecond = (property: string) => ({
  reason: SECOND_RECORD,
  field: `/properties/${property}`,
  detail: SEVERAL_RECORDS,
  column: null,
  value: null,
})

/** What was found out about a row that comes last. */
type Ended = LastRow | { readonly item: PlannedItem; readonly answer: BatchAnswer }

/** Sends the later row of each pair once more. Returns how many were sent. */
export async function resolveCollisions(deps: Deps, job: StagedImport): Promise<number> {
  const { ledger } = deps
  const { run, config } = job
  if (!writesRecords(config.mode)) return 0
  // A second create would make a second record.
  if (!OPERATIONS[operationOfMode(config.mode)].replay) return 0
  const sendLast = await lastSender(deps, job)
  const settle = settler(deps, job)
  const place = await stepPosition(ledger, run, 'twins', { after: 0 })
  let sent = 0
  let { after } = place.kept
  // Bounded by the run's items: every pass moves `after` forward.
  for (;;) {
    const [item] = await ledger.collisions(run, { after, limit: 1 })
    if (!item) return sent
    after = item.ordinal
    const ended = await sendLast(item)
    if ('answer' in ended) {
      await place.sent()
      sent++
    }
    await settle(item, ended)
    // One that was sent already is not sent again when the run goes on after a failure.
    await place.keep({ after })
    deps.beat()
  }
}

/** Sends a row, if its record is as the run left it; each time after a look-up where the run looks rows up. */
async function lastSender(
  deps: Deps,
  job: StagedImport,
): Promise<(item: PlannedItem) => Promise<Ended>> {
  const { client, clock, signal, priority } = deps
  const { run, config } = job
  const look = await lastRowReader(deps, job)
  const find = rowFinder(deps, job)
  // As before every update: another program may have given the record another key since.
  const aimed = async (item: PlannedItem): Promise<LastRow> => {
    if (config.mode !== 'update') return { item }
    const [row] = await find([item], { whole: false })
    return row?.isSeveral === false && row.record?.id === item.recordId
      ? { item }
      : { isMoved: true }
  }
  const send = async (item: PlannedItem, options: Parameters<typeof sendBody>[3]) => {
    const body = bodyText(config, [item])
    const sending = sendBody(client, config, { body, count: 1 }, { ...options, signal, priority })
    return { item, answer: await withHeartbeat(deps, sending) }
  }
  const sendLooked = async (item: PlannedItem, sendBefore: Deadline): Promise<Ended> => {
    let ended: LastRow | null = null
    const sent = await lookThenSend(
      deps,
      async () => {
        const at = clock.now()
        const looked = await look!(item)
        if ('item' in looked && !('holds' in looked)) return { at, item: looked.item }
        ended = looked
        return null
      },
      ({ seen, permit, until }) =>
        send(seen.item, { permit, sendBefore: sendUntil(sendBefore, until), waitsOut429: false }),
    )
    return sent ?? ended!
  }
  return async (item) => {
    if (look !== null)
      return await sendIfRunIsOpen(deps, run, (sendBefore) => sendLooked(item, sendBefore))
    const row = await aimed(item)
    if (!('item' in row)) return row
    return await sendIfRunIsOpen(deps, run, (sendBefore) => send(row.item, { sendBefore }))
  }
}

/** Records what became of a row. The state stays what it was; what is no longer accepted must be due again on the next run. */
function settler(
  deps: Deps,
  job: StagedImport,
): (item: PlannedItem, ended: Ended) => Promise<void> {
  const { ledger } = deps
  const { run, config, schema } = job
  const readAnswer = answerReader(config, schema)
  const readAfter = afterReader(config, schema)
  const matching = `/properties/${config.matching_property}`

  const leave = async (ordinal: number, field: string | null, told: ItemNote) => {
    const verdict = { verdict: 'different', recordId: null, field, told } as const
    await ledger.recordVerified(run, [{ ordinal, ...verdict }])
  }
  const accept = async (
    item: PlannedItem,
    outcome: ItemOutcome,
    record: FoundRow['record'] | undefined,
  ) => {
    const row = parsed(item)
    const { answered } = readAnswer(row, outcome, record)
    const after = readAfter(row.sent, outcome.state, record)
    if (after !== null) await ledger.noteAfter(run, [{ ordinal: item.ordinal, after }])
    const known = await ledger.acceptedRecords(run, [item.key])
    const isSecond = (known.get(item.key)?.records ?? []).length > 0
    await ledger.recordCollision(run, item.ordinal, {
      reason: SAME_RECORD,
      detail: overwrittenBy(item.ordinal),
      answered: isSecond ? stillSecond(config.matching_property) : (answered ?? null),
    })
  }

  return async ({ ordinal }, ended) => {
    if ('isMoved' in ended) return await leave(ordinal, matching, MOVED)
    if ('left' in ended) {
      const { reason, field, detail } = ended.left
      const text = detail === null ? OTHER_ROW : `${detail}; ${OTHER_ROW}`
      return await leave(ordinal, field, { ...MOVED, reason: reason ?? MOVED.reason, detail: text })
    }
    if ('holds' in ended)
      return await accept(ended.item, blankOutcome(ended.item, 'updated'), ended.holds)
    if (!('answer' in ended)) return
    const result = ended.answer.data[0]!
    const outcome = itemOutcome(ended.item, result)
    if (isWritten(outcome.state)) await accept(ended.item, outcome, result.record)
    else await leave(ordinal, outcome.field, REFUSED)
  }
}
