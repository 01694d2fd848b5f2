// Collisions: two items of a run whose keys differ for us and whose record is one for the service (it normalises more than we
// do). Their batches may have been carried out in any order, so the later row is sent once more, alone, last.

import { OPERATIONS } from '../../contract/index.ts'
import { SECOND_RECORD } from '../../core/domain/held-back.ts'
import { isWritten } from '../../core/domain/item-states.ts'
import type {
  AcceptedRecords,
  BeforeImages,
  PlannedItem,
  Runs,
  StepStates,
  Verification,
} from '../../ledger/ledger.ts'
import { asSentReader } from '../changes/as-sent.ts'
import { ANSWERED_OTHER_RECORD, answerReader } from './answered.ts'
import { operationOfMode, writesRecords } from '../../core/domain/import-modes.ts'
import { rowFinder } from './found-records.ts'
import { bodyText, sendBody } from './send.ts'
import { sendIfRunIsOpen } from './send-deadline.ts'
import { itemOutcome } from './outcome.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import { stepPosition } from '../step-position.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { parsed } from '../verify/look-up.ts'
import { SEVERAL_RECORDS } from '../verify/read-back.ts'

/** Reason of a row whose record holds the values of a later row. */
const SAME_RECORD = 'same_record'
const overwrittenBy = (line: number) =>
  `row ${line} has another key and the same record at the service; it comes last, and the record holds its values`

const COLLISION_REFUSED =
  'another row of the run has the same record at the service; this one comes last, and the service refused it when it was sent again'

const MOVED =
  'another row of the run had the same record at the service, and the record has another key now; the row is sent again by the next run'

const stillSecond = (property: string) => ({
  reason: SECOND_RECORD,
  field: `/properties/${property}`,
  detail: SEVERAL_RECORDS,
  column: null,
  value: null,
})

/** Sends the later row of each pair once more. Returns how many were sent. */
export async function resolveCollisions(
  deps: ImportDeps<AcceptedRecords & BeforeImages & Runs & StepStates & Verification>,
  job: StagedImport,
): Promise<number> {
  const { ledger, client, signal, priority } = deps
  const { run, config, schema } = job
  if (!writesRecords(config.mode)) return 0
  // A second create would make a second record.
  if (!OPERATIONS[operationOfMode(config.mode)].replay) return 0
  const readAnswer = answerReader(config, schema)
  const find = rowFinder(deps, job)
  // As before every update: another program may have given the record another key since.
  const isStillAimed = async (item: PlannedItem) => {
    if (config.mode !== 'update') return true
    const [row] = await find([item], { whole: false })
    return row?.isSeveral === false && row.record?.id === item.recordId
  }
  // Another row has changed what the record had when this one was looked up: it is sent with all of its values.
  const asSent = asSentReader(ledger, job, 'unkept')
  const place = await stepPosition(ledger, run, 'twins', { after: 0 })
  let sent = 0
  let { after } = place.kept
  // Bounded by the run's items: every pass moves `after` forward.
  for (;;) {
    const [item] = await asSent(await ledger.collisions(run, { after, limit: 1 }))
    if (!item) return sent
    after = item.ordinal
    if (!(await isStillAimed(item))) {
      const told = { reason: ANSWERED_OTHER_RECORD, detail: MOVED, column: null, value: null }
      const field = `/properties/${config.matching_property}`
      const verdict = { verdict: 'different', recordId: null, field, told } as const
      await ledger.recordVerified(run, [{ ordinal: item.ordinal, ...verdict }])
      await place.keep({ after })
      continue
    }
    const body = bodyText(config, [item])
    const sending = sendIfRunIsOpen(deps, run, (sendBefore) =>
      sendBody(client, config, { body, count: 1 }, { signal, priority, sendBefore }),
    )
    const answer = await withHeartbeat(deps, sending)
    await place.sent()
    const result = answer.data[0]!
    const outcome = itemOutcome(item, result)
    // The state stays what it was; what is no longer accepted must be due again on the next run.
    if (isWritten(outcome.state)) {
      const { answered } = readAnswer(parsed(item), outcome, result.record)
      const known = await ledger.acceptedRecords(run, [item.key])
      const isSecond = (known.get(item.key)?.records ?? []).length > 0
      await ledger.recordCollision(run, item.ordinal, {
        reason: SAME_RECORD,
        detail: overwrittenBy(item.ordinal),
        answered: isSecond ? stillSecond(config.matching_property) : (answered ?? null),
      })
    } else
      await ledger.recordVerified(run, [
        {
          ordinal: item.ordinal,
          verdict: 'different',
          recordId: null,
          field: outcome.field,
          told: { reason: 'twin_refused', detail: COLLISION_REFUSED, column: null, value: null },
        },
      ])
    // One that was sent already is not sent again when the run goes on after a failure.
    await place.keep({ after })
    sent++
    deps.beat()
  }
}
