// A run that was closed: each row has one outcome and the right one, and what the run calls complete is true.

import { COPIES } from '../search/copies.ts'
import type { SyncScene } from '../search/plan.ts'
import type { World } from '../world/world.ts'
import type { ApprovalJudge } from './approved.ts'
import type { IncrementalJudge } from './incremental.ts'
import type { RunRow } from './judge.ts'
import type { LinkJudge } from './linked.ts'
import { isSetAside, judgeLeft, judgeSaid, protectedStates } from './protected.ts'
import { isOfKey, isRekeyed, plainValues } from './service-log.ts'
import { isInvalid, REFUSED, type Row } from './sources.ts'

interface Item {
  readonly ordinal: number
  readonly state: string
  readonly key: string | null
  readonly record_id: string | null
  readonly verified: string | null
  readonly replayed: number
  readonly in_doubt: number
  readonly code: string | null
  readonly reason: string | null
  readonly attempts: number
}

/** A row that the service could not take is sent so often. */
const SENDINGS = 5

type Violate = (what: string) => void

/** As docs/ledger.md has them. */
const STATES =
  'created updated unchanged superseded exists not_found protected deletion_requested corrected invalid refused conflict outcome_unknown not_sent pending in_flight'.split(
    ' ',
  )
const COMPLETE: readonly string[] = [
  'complete',
  'complete_with_rejects',
  'complete_with_differences',
]
const ACCEPTED: readonly string[] = ['created', 'updated', 'unchanged']

/** The states that a row may end in. */
function rightStates(
  world: World,
  sync: SyncScene,
  rows: readonly Row[],
  at: number,
): readonly string[] {
  const row = rows[at]!
  if (isInvalid(row)) return ['invalid']
  const later = rows.slice(at + 1).some((one) => one.code === row.code && !isInvalid(one))
  if (later) return ['superseded']
  if (row.asksDeletion === true) return ['deletion_requested']
  const isRefused = Object.values(row.cells).includes(REFUSED)
  // One that writes another name, where it is asked for an upsert, does not see that one.
  const isNameLost = world.plan.scene.service.writes !== 'sent' && row.cells['name'] === REFUSED
  const spared = sync.mode === 'create' ? ['exists'] : sync.mode === 'update' ? ['not_found'] : []
  // A row that the service could not take, however often it was asked; a create whose answer was lost is in doubt.
  const { items, failed, failedAfter } = world.plan.weather
  const givenUp =
    items + failed + failedAfter > 0 || sync.mode === 'create' ? ['outcome_unknown'] : []
  if (isRefused && !isNameLost)
    return ['refused', ...givenUp, ...spared, ...protectedStates(sync.protection, row)]
  const written =
    sync.mode === 'create'
      ? ['created']
      : sync.mode === 'update'
        ? ['updated']
        : ['created', 'updated']
  return [
    ...written,
    'unchanged',
    ...spared,
    ...givenUp,
    ...(isNameLost ? ['refused'] : []),
    ...protectedStates(sync.protection, row),
  ]
}

/** The properties that the run was configured to write. */
const propertiesOf = ({ config }: RunRow): readonly string[] => {
  const found = /"properties":(\{(?:[^{}]|\{[^{}]*\})*\})/.exec(config)?.[1]
  return found === undefined ? [] : Object.keys(JSON.parse(found) as object)
}

/** A row whose record this run has made was neither there before, nor only changed. */
function judgeMade(
  world: World,
  { run, row, item }: Accepted,
  since: number,
  violate: Violate,
): void {
  const sync = world.plan.scene.syncs.find(({ name }) => name === run.sync)!
  const isBooked =
    item.state === 'exists' || (item.state === 'updated' && item.replayed + item.in_doubt === 0)
  // An answer 204 does not say which it was.
  const isSilent = world.plan.scene.service.batchItems === '204' && item.state === 'updated'
  // One that answers 503 to what it has carried out says that it was not.
  const isLying = world.plan.weather.failedAfter > 0
  const keepsBefore = sync.keepBefore || run.config.includes('"keep_before":true')
  const looksUp = keepsBefore || sync.protection !== null || sync.asks
  if (!isBooked || isSilent || isLying || looksUp || sync.mode === 'update') return
  const made = world.services.log.changes.some(
    (one) =>
      one.by === 'us' &&
      one.before === null &&
      !one.isCopy &&
      one.at >= since &&
      one.org === run.org_id &&
      one.code.trim() === row.code,
  )
  if (made)
    violate(
      `(iii) run ${run.id}: row ${item.ordinal} is ${item.state}, and the run has made its record`,
    )
}

interface ClosedParts {
  readonly since: number
  readonly approvals: ApprovalJudge
  readonly links: LinkJudge
  readonly incremental: IncrementalJudge
}

export function judgeClosedRun(
  world: World,
  run: RunRow,
  { since, approvals, links, incremental }: ClosedParts,
  violate: Violate,
): void {
  const sync = world.plan.scene.syncs.find(({ name }) => name === run.sync)!
  for (const { state } of world.query<{ state: string }>(
    'SELECT DISTINCT state FROM items WHERE run = ?',
    run.id,
  ))
    if (!STATES.includes(state)) violate(`(iii) run ${run.id} has rows in no known state: ${state}`)
  if (run.sync === COPIES) return
  // Why a plan is refused is the product's to say.
  if (run.state === 'failed' && !approvals.isApplying(run)) judgeFailed(world, run, since, violate)
  approvals.judgeApplied(run)
  if (!COMPLETE.includes(run.state)) incremental.noteEnded(run)
  if (!['sync', 'backfill'].includes(run.purpose) || !COMPLETE.includes(run.state))
    return links.judgeClosed(run, null, since)
  const source = world.sources.get(run.sync)!
  const read =
    source.sync.query === null
      ? (source.states.find(({ digest }) => digest === run.source_digest)?.rows ?? null)
      : incremental.rowsOf(run)
  if (read === null)
    return violate(`(iii) run ${run.id} is ${run.state}, and what it has read was never the source`)
  const items = world.query<Item>(
    'SELECT ordinal, state, key, record_id, verified, replayed, in_doubt, code, reason, attempts FROM items WHERE run = ? ORDER BY ordinal',
    run.id,
  )
  if (items.length !== read.length)
    return violate(
      `(iii) run ${run.id}: the source has ${read.length} rows, and the ledger ${items.length}`,
    )
  links.judgeClosed(run, items, since)
  if (source.sync.query !== null) incremental.judgeAges(run, read, items)
  const isClean = run.state === 'complete'
  for (const [at, item] of items.entries()) {
    const row = read[at]!
    const right = [
      ...rightStates(world, sync, read, at),
      ...(sync.asks || approvals.isApplying(run) || item.reason === MOVED ? ['conflict'] : []),
      // The service itself has changed what it takes.
      ...(world.refusesMore(run.opened_at) || isSetAside(sync, item) ? ['refused'] : []),
      ...(sync.query !== null && item.reason === 'accepted_newer' ? ['superseded'] : []),
    ]
    if (!right.includes(item.state))
      violate(
        `(iii) run ${run.id} is ${run.state}: row ${at + 1} is ${item.state} (${item.code} ${item.reason}), expected ${right.join(' or ')}`,
      )
    if (item.state === 'outcome_unknown' && sync.mode !== 'create' && item.attempts < SENDINGS)
      violate(`(iii) run ${run.id}: row ${at + 1} is failed after ${item.attempts} sendings`)
    if (
      isClean &&
      ['refused', 'invalid', 'outcome_unknown', 'not_sent', 'conflict'].includes(item.state)
    )
      violate(`(i) run ${run.id} is complete, and row ${at + 1} is ${item.state}`)
    if (item.state !== 'invalid' && item.key !== row.code)
      violate(`(iii) run ${run.id}: row ${at + 1} has another key`)
    if (!approvals.isApplying(run)) judgeMade(world, { run, row, item }, since, violate)
    approvals.judgeConflict(run, item, since)
    judgeLeft(world, sync, { run, row, item }, violate)
    if (ACCEPTED.includes(item.state)) judgeAccepted(world, { run, row, item }, since, violate)
  }
}

/** Of a row that was sent, and whose answer was lost, before others removed or changed its record; `judgeConflict` asks whether they did. */
const MOVED = 'moved_since_sent'

/** Why a run may fail for good. Nothing else that goes wrong in the world does more than block it. */
const MENDABLE = ['hide', 'schema', 'address', 'key', 'config', 'wipe', 'terminate']

function judgeFailed(
  world: World,
  { id, reason, message, workflow_id }: RunRow,
  since: number,
  violate: Violate,
): void {
  if (/do not balance/.test(message ?? '')) violate(`(viii) run ${id} has failed: ${message}`)
  const kinds = world.plan.actions.map((action) => action.do)
  // A workflow may end in the moment in which a worker opens its run; it is closed as abandoned.
  const begun = world.runs.find(({ workflowId }) => workflowId === workflow_id)
  if (reason === 'abandoned' && (begun?.ended?.at ?? Infinity) < since) return
  // A service with other paths, whose document could not be read for now.
  const isUsual = world.plan.scene.service.paths === 'other' && /does not exist/.test(message ?? '')
  if (isUsual && world.logged.some((line) => line.includes('no OpenAPI document'))) return
  if (kinds.includes('edit') && /the file changed|the source/i.test(message ?? '')) return
  if (!kinds.some((kind) => MENDABLE.includes(kind)))
    violate(
      `(vi) run ${id} has failed, and nothing that a person did explains it: ${reason} ${message}`,
    )
}

interface Accepted {
  readonly run: RunRow
  readonly row: Row
  readonly item: Item
}

/** (i) The service has what was accepted, but for what others have changed. */
function judgeAccepted(
  world: World,
  { run, row, item }: Accepted,
  since: number,
  violate: Violate,
): void {
  // The run says that it is held otherwise.
  if (run.state !== 'complete' && (item.verified ?? 'equal') !== 'equal') return
  const org = world.orgOf(run.org_id)
  if (org === null) return
  const sync = world.plan.scene.syncs.find(({ name }) => name === run.sync)!
  const { changes } = world.services.log
  // Under the key without space; a record that the file's own form has found keeps that.
  const records = org
    .list(sync.type)
    .filter(({ properties }) => String(properties['code'] as string).trim() === row.code)
  const where = `run ${run.id} is ${run.state}, row ${item.ordinal} is ${item.state}`
  // A service that writes other values is seen where all is read back.
  const isTrue = world.plan.scene.service.writes === 'sent' || run.config.includes('"verify":"all"')
  if (records.length === 0) {
    const last = changes.findLast((one) => one.org === org.id && isOfKey(one, row.code))
    if (last === undefined) violate(`(i) ${where}, and there was never a record of it`)
    else if (last.by === 'us') violate(`(i) ${where}, and its record was deleted by us`)
    return
  }
  const ours = records.filter(({ id }) =>
    changes.some(
      (one) => one.org === org.id && one.id === id && one.before === null && one.by === 'us',
    ),
  )
  if (ours.length > 1) violate(`(i) ${where}, and we have made ${ours.length} records of it`)
  for (const property of propertiesOf(run)) {
    const wanted = row.cells[property]!
    // An empty cell, which a file that is cut may have, is not sent.
    if (property === 'code' || wanted === '' || (property === 'name' && !isTrue)) continue
    const agrees = records.some((record) => plainValues(record)[property] === wanted)
    if (agrees) continue
    const ids = new Set(records.map(({ id }) => id))
    const last = changes.findLast(
      (one) =>
        one.org === org.id &&
        ids.has(one.id) &&
        (one.values?.[property] !== one.before?.[property] || isRekeyed(one)),
    )
    // Others may have removed its record, and another sync made it again.
    const wasWritten = changes.some(
      (one) =>
        one.org === org.id && one.code.trim() === row.code && one.values?.[property] === wanted,
    )
    judgeSaid(world, sync, { run, row, item, property, last }, since, violate)
    const isKept = sync.protection?.ifEmpty === property
    if (last === undefined) {
      if (!wasWritten) violate(`(i) ${where}, and its ${property} was never written`)
    } else if (last.by === 'us' && !isKept) {
      const origin = world.versions.originOf(last.values?.[property])
      const isOtherSync = origin !== null && origin.sync !== run.sync
      if (!isOtherSync) violate(`(i) ${where}, and its ${property} is another one, written by us`)
    }
  }
}
