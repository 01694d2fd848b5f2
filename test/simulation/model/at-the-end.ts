// When the adversary rests: every run ends in bounded time, the next run of each sync brings everything in, and one more has nothing left to
// do. Then what has crossed the Temporal server, and what was logged, is searched for what does not belong there.

import { COPIES } from '../search/copies.ts'
import type { SyncScene } from '../search/plan.ts'
import { MIRROR } from '../world/warehouse.ts'
import type { World } from '../world/world.ts'
import { isRekeyed } from './service-log.ts'
import { isRefusedAsEmpty, judgeCopies } from './copied.ts'
import type { Judge } from './judge.ts'
import { KEY_MARK, VALUE_MARK } from './sources.ts'
import { othersTarget, OTHERS_TARGETS } from './targets.ts'

const MINUTE = 60_000
/** In which everything that was begun has to end. */
const ENDS_IN_MS = 40 * MINUTE
const ASK_EVERY_MS = 30_000
const MARKS = new RegExp(`${VALUE_MARK}[\\d-]|${KEY_MARK}-|sk-[a-z]+-0`)

const isOver = (world: World): boolean => {
  // What they begin by themselves is to end too.
  world.linkers?.follow()
  return (
    world.runs.every(({ ended }) => ended !== null) &&
    world.query(
      `SELECT 1 FROM runs WHERE mode = 'run' AND state IN ('running', 'paused', 'blocked')`,
    ).length === 0
  )
}

/** People approve whatever waits for them, resume what is paused, and cancel what waits for a service that will not come back. */
function attend(world: World): void {
  // A start may reach the server after it has lost its database, and an id may be used again.
  for (const [workflowId, executions] of world.temporal.server.runs) {
    if (executions.at(-1)?.isOpen !== true) continue
    const handle = world.client.workflow.getHandle(workflowId)
    void world.answer(workflowId, null, true).catch(() => {})
    void handle.executeUpdate('resume', { args: [] }).catch(() => {})
    const [stuck] = world.query(
      `SELECT 1 FROM runs WHERE workflow_id = ? AND state = 'blocked' AND reason = 'contract'`,
      workflowId,
    )
    if (stuck) void handle.cancel().catch(() => {})
  }
}

async function untilOver(world: World, judge: Judge, what: string): Promise<boolean> {
  const { loop } = world
  const until = loop.now() + ENDS_IN_MS
  while (loop.now() < until) {
    if (await loop.run(() => isOver(world), Math.min(until, loop.now() + ASK_EVERY_MS))) return true
    attend(world)
  }
  const left = world.runs.filter(({ ended }) => ended === null).map(({ workflowId }) => workflowId)
  const runs = world.query<{
    id: number
    state: string
    reason: string | null
    message: string | null
  }>(
    `SELECT id, state, reason, message FROM runs WHERE mode = 'run' AND state IN ('running', 'paused', 'blocked')`,
  )
  judge.violate(
    `(vi) ${what} does not end: ${[...left, ...runs.map((run) => JSON.stringify(run))].join(', ')}`,
  )
  return false
}

/** A record that another user has given another key is there still: its row may have got a second one, which the run says. */
const isRekeyedType = ({ services }: World, type: SyncScene['type']): boolean =>
  services.log.changes.some((one) => isRekeyed(one) && one.id.startsWith(type.slice(0, 3)))

/** Keys of records that there will be, when every sync has brought in its rows. */
function targetsAtTheEnd(world: World, { links }: SyncScene): readonly string[] {
  if (links === null) return []
  const there = new Set(
    world.services.crm.org
      .list(links.to)
      .map(({ properties }) => String(properties['code'] as string).trim()),
  )
  const others = Array.from({ length: OTHERS_TARGETS }, (_, at) =>
    othersTarget(KEY_MARK, links, at + 1),
  )
  const rows = world.plan.scene.syncs
    // One that updates brings none, and what it updates may be removed by one that deletes.
    .filter(({ type, mode }) => type === links.to && mode !== 'update')
    .flatMap(({ name }) =>
      world.sources
        .get(name)!
        .last.rows.map(({ code }) => code)
        .filter((code) => code !== ''),
    )
  return [...new Set([...rows, ...others.filter((code) => there.has(code))])]
}

/** Links whose targets another sync has brought meanwhile are made by themselves, and once more nothing is left to do; not even to compare. */
async function judgeLinks(world: World, judge: Judge, sync: SyncScene): Promise<void> {
  const { edges, log } = world.services
  for (const round of ['next', 'last']) {
    const before = [edges.changes.length, log.changes.length] as const
    const run = world.start(sync.name, 'importSync', { sync: sync.name })
    if (!(await untilOver(world, judge, run.workflowId))) return
    if (round === 'next' && sync.links!.missing !== 'park') continue
    const made = [edges, log].map(
      ({ changes }, at) => changes.slice(before[at]).filter(({ by }) => by === 'us').length,
    )
    if (made.some((count) => count > 0) && world.plan.scene.service.writes === 'sent')
      judge.violate(
        `(i) at the end the ${round} run of ${sync.name} makes ${made[0]} links, and changes ${made[1]} records`,
      )
  }
  const last = world.lastClosedRun(sync.name)!
  // Links that others have taken away are believed in until a comparison asks.
  const repair = world.start(sync.name, 'reconcile', { sync: sync.name, repair: true })
  if (await untilOver(world, judge, repair.workflowId)) judge.links.judgeEnd(last, sync)
}

async function judgeSync(world: World, judge: Judge, sync: string): Promise<boolean> {
  const source = world.sources.get(sync)!
  source.clean(targetsAtTheEnd(world, source.sync))
  // What a service makes of values is known once two runs have read the same.
  const { writes, capitals } = world.plan.scene.service
  const rounds = capitals ? ['first', 'second', 'third', 'last'] : ['first', 'last']
  for (const round of rounds) {
    const before = world.services.log.changes.length
    const run = world.start(sync, 'importSync', { sync })
    if (!(await untilOver(world, judge, run.workflowId))) return false
    const isTrue = writes === 'sent'
    // A record whose row is gone, and that others have changed, stays; the run says so.
    const mayDiffer =
      (source.sync.missingRows === 'delete' ||
        source.sync.asksDeletion ||
        isRekeyedType(world, source.sync.type) ||
        (capitals && round !== 'last') ||
        source.sync.links?.missing === 'park') &&
      run.ended!.how.endsWith('_differences')
    // What others have changed stays; which rows these are is judged as the run is closed.
    const mayReject =
      (source.sync.protection?.onConflict === 'reject' ||
        source.sync.links?.missing === 'reject') &&
      run.ended!.how === 'complete_with_rejects'
    const isRight = run.ended!.how === 'complete' || mayDiffer || mayReject
    if (isTrue ? !isRight : !run.ended!.how.startsWith('complete'))
      judge.violate(`(i) at the end the ${round} run of ${sync} is ${run.ended!.how}`)
    if (run.ended!.how === 'complete') world.timetable?.judgeWell(sync)
    const written = world.services.log.changes.slice(before).filter(({ by }) => by === 'us')
    if (round === 'last' && isTrue && written.length > 0)
      judge.violate(`(i) at the end the ${round} run of ${sync} changes ${written.length} records`)
  }
  return true
}

/** The next run of the copies brings everything in, and one more changes nothing. */
async function judgeCopiesAtTheEnd(world: World, judge: Judge): Promise<void> {
  for (const round of ['first', 'last']) {
    const before = world.services.log.ofCopies.length
    const run = world.start(COPIES, 'importSync', { sync: COPIES })
    if (!(await untilOver(world, judge, run.workflowId)) || isRefusedAsEmpty(world)) return
    const { how } = run.ended!
    if (how !== 'complete' && how !== 'complete_with_differences')
      judge.violate(`(i) at the end the ${round} run of ${COPIES} is ${how}`)
    const written = world.services.log.ofCopies.slice(before).filter(({ by }) => by === 'us')
    if (round === 'last' && written.length > 0)
      judge.violate(`(i) at the end the last run of ${COPIES} changes ${written.length} records`)
  }
  judgeCopies(world, (what) => judge.violate(what))
}

/** The next run of the mirror reads everything, and one more finds nothing to do. */
async function judgeMirror(world: World, judge: Judge): Promise<void> {
  if (!(await world.mirrorJudge!.isHome())) return
  for (const full of [true, false]) {
    const { tuning } = world.plan.scene.mirror!
    const run = world.start(MIRROR, 'mirrorSync', { sync: MIRROR, full, tuning })
    if (!(await untilOver(world, judge, run.workflowId))) return
    if (run.ended!.how !== 'complete')
      judge.violate(
        `(i) at the end the ${full ? 'full' : 'last'} run of the mirror is ${run.ended!.how}`,
      )
    await world.mirrorJudge!.look(run, { isLast: true })
  }
}

const textOf = (value: unknown): string =>
  JSON.stringify(value, (name, part: unknown) =>
    // Payloads as their events write them.
    name === 'data' && typeof part === 'string'
      ? Buffer.from(part, 'base64').toString('utf8')
      : part instanceof Uint8Array
        ? Buffer.from(part).toString('utf8')
        : typeof part === 'bigint'
          ? String(part)
          : part !== null &&
              typeof part === 'object' &&
              (part as { type?: string }).type === 'Buffer'
            ? Buffer.from((part as { data: number[] }).data).toString('utf8')
            : part,
  )

/** (vii) No value and no key where it does not belong. */
function judgePrivacy(world: World, judge: Judge): void {
  const found = (where: string, text: string) => {
    // The random name of the folder may look like a mark.
    const own = text.replaceAll(world.folder, 'FOLDER')
    const at = MARKS.exec(own)
    if (at)
      judge.violate(`(vii) ${where}: …${own.slice(Math.max(0, at.index - 80), at.index + 20)}`)
  }
  for (const line of world.logged) found('in the log', line)
  for (const { workflowId, history } of world.temporal.wireHistories())
    found(`in the history of ${workflowId.split('-')[0]!}`, textOf(history))
}

/** (viii) What is closed stays closed, whoever goes on late. */
function judgeClosed(world: World, judge: Judge): void {
  for (const { run, count } of world.query<{ run: number; count: number }>(
    `SELECT run, count(*) AS count FROM items JOIN runs ON runs.id = items.run
     WHERE mode = 'run' AND items.state IN ('pending', 'in_flight') AND runs.state NOT IN ('running', 'paused', 'blocked') GROUP BY run`,
  ))
    judge.violate(`(viii) run ${run} is closed, and ${count} of its items are open`)
}

/** Where the code has been: for a search that prefers what was not seen before. */
function noteMarks(world: World, judge: Judge): void {
  for (const line of world.logged) judge.marks.add(`log ${line.split(' ')[2]}`)
  for (const row of world.query<{ mark: string }>(
    `SELECT DISTINCT 'item ' || state || ' ' || coalesce(code, '') || ' ' || coalesce(reason, '') || ' ' || coalesce(verified, '') || replayed || in_doubt AS mark FROM items
     UNION SELECT DISTINCT 'run ' || purpose || ' ' || state || ' ' || coalesce(reason, '') FROM runs`,
  ))
    judge.marks.add(row.mark)
  for (const { how } of world.runs.flatMap(({ ended }) => ended ?? []))
    judge.marks.add(`end ${how}`)
  for (const { history } of world.temporal.wireHistories())
    for (const { eventType } of history.events ?? []) judge.marks.add(`event ${eventType}`)
}

/** (vi) The quota is respected: few requests are refused, and those few because others use it too, or because it has changed. */
function judgeQuota(world: World, judge: Judge): void {
  const { requests, refused } = world.services.crm.stats()
  const { actions } = world.plan
  const changes = actions.filter((action) =>
    [
      'limit',
      'kill',
      'killAtStatement',
      'upgrade',
      'clock',
      'outage',
      'stop',
      'key',
      'powerCut',
    ].includes(action.do),
  )
  const injected = actions.some((action) => action.do === 'limit' && action.refuseEach !== null)
  const allowed = 12 + 6 * changes.length + requests * (injected ? 0.4 : 0.08)
  if (refused > allowed)
    judge.violate(`(vi) ${refused} of ${requests} requests were refused by the quota`)
}

/** What goes wrong with requests alone does not keep a run from its end. */
const UNHURRIED_MS = 20 * MINUTE
/** Nothing else is done to the world. */
const CALM: readonly string[] = ['run', 'mirror', 'edit', 'others']

/** (vi) Before the adversary rests: a service that fails sometimes holds no run up for ever. */
export function judgeProgress({ plan, runs, loop, services }: World, judge: Judge): void {
  const { weather, actions, scene } = plan
  const isMild = Math.max(weather.failed, weather.failedAfter, weather.stalled) <= 0.15
  const isCalm = actions.every((action) => CALM.includes(action.do))
  if (!isMild || !isCalm || scene.service.perMinute < 600) return
  for (const { workflowId, beganAt, ended } of runs)
    if (ended === null && loop.now() - beganAt > UNHURRIED_MS)
      judge.violate(
        `(vi) ${workflowId} has not ended after ${UNHURRIED_MS / MINUTE} minutes and ${services.crm.stats().requests} requests, and only some requests fail`,
      )
}

export async function judgeEnd(world: World, judge: Judge): Promise<void> {
  noteMarks(world, judge)
  if (!(await untilOver(world, judge, 'what was begun'))) return
  // A client that could not read the service's document uses the usual requests, and asks again after a minute.
  await world.loop.run(() => false, world.loop.now() + MINUTE + 1)
  for (const { name } of world.plan.scene.syncs) if (!(await judgeSync(world, judge, name))) break
  for (const sync of world.plan.scene.syncs)
    if (sync.links !== null && judge.violations.length === 0) await judgeLinks(world, judge, sync)
  if (world.plan.scene.copies !== null) await judgeCopiesAtTheEnd(world, judge)
  if (world.mirrorJudge !== null) await judgeMirror(world, judge)
  noteMarks(world, judge)
  judgeClosed(world, judge)
  judgeQuota(world, judge)
  judge.judgeWaits()
  judgePrivacy(world, judge)
}
