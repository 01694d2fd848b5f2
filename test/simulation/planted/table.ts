// Bugs that are planted to prove that the simulator sees them: each takes back one precaution of the code, in a copy of it.

import type { Patch } from '../search/places.ts'
import { PLANTED_IN_PLANS } from './plans-beforehand.ts'
import { PLANTED_IN_POSTGRES } from './postgres.ts'
import { PLANTED_IN_QUERIES } from './queries.ts'

export interface PlantedBug {
  readonly name: string
  /** What it is about. */
  readonly area:
    | 'fences'
    | 'deadlines'
    | 'outbox'
    | 'staging'
    | 'deletions'
    | 'mirror'
    | 'gates'
    | 'pacing'
    | 'verification'
    | 'undo'
    | 'protection'
    | 'approval'
    | 'schedules'
    | 'links'
    | 'queries'
    | 'plans'
    | 'privacy'
    | 'client'
    | 'running'
    /** It is looked for in histories with PostgreSQL. */
    | 'postgres'
  readonly patches: readonly Patch[]
}

const bug = (
  area: PlantedBug['area'],
  name: string,
  place: string,
  from: string,
  to: string,
  ...more: readonly Patch[]
): PlantedBug => ({ area, name, patches: [{ in: place, from, to }, ...more] })

export const PLANTED: readonly PlantedBug[] = [
  bug('outbox', 'sent-rows-stay-planned', 'outboxMethods', 'markSent(db, run, sent)\n', ''),
  bug(
    'outbox',
    'lost-batches-are-forgotten',
    'push',
    'await resendLost(deps, job, delivery, slice)\n',
    'if (fence < 0) await resendLost(deps, job, delivery, slice)\n',
  ),
  bug(
    'outbox',
    'accepted-while-in-flight',
    'outboxMethods',
    'UPDATE accepted SET hash = NULL WHERE destination = ? AND key IN',
    'UPDATE accepted SET hash = hash WHERE destination = ? AND key IN',
    // What was in flight when a workflow ended is looked up before the next run begins.
    {
      in: 'importActivities',
      from: 'const abandoning = (gone: Run) => settle(work, gone, env)',
      to: 'const abandoning = async (gone: Run) => void (gone.id < 0 && (await settle(work, gone, env)))',
    },
  ),
  bug(
    'outbox',
    'failed-items-count-as-taken',
    'itemOutcome',
    `outcome === 'retry' ? (isSpent ? 'in_flight' : 'pending') : 'refused',`,
    `outcome === 'retry' ? 'updated' : 'refused',`,
  ),
  bug(
    'outbox',
    'answers-in-another-order',
    'settlement',
    'outcomeOf(item, sent[index]!, data[index]!))',
    'outcomeOf(item, sent[index]!, data[data.length - 1 - index]!))',
  ),
  bug(
    'outbox',
    'released-rows-stay-sent',
    'outboxMethods',
    `"UPDATE items SET state = 'pending', batch = NULL WHERE run = ? AND ordinal = ?"`,
    `"UPDATE items SET batch = NULL WHERE run = ? AND ordinal = ?"`,
  ),
  bug(
    'outbox',
    'creates-are-replayed',
    'Delivery',
    'return OPERATIONS[this.#operation].replay',
    `return OPERATIONS[this.#operation].replay || this.#operation !== 'batchUpdate'`,
  ),
  bug(
    'outbox',
    'doubt-is-released',
    'Delivery',
    'if (isDoubtful) await this.#deps.ledger.recordNoAnswer(this.#job.run, batch, ended)\n    else',
    'void isDoubtful\n    ',
    // Rows that are sent again are flagged.
    {
      in: 'Delivery',
      from: 'operation: this.#operation, replayed }',
      to: 'operation: this.#operation, replayed: !replayed }',
    },
  ),
  bug(
    'outbox',
    'refused-rows-count-as-accepted',
    'settleBatch',
    'accept(db, run, destination, written)',
    'accept(db, run, destination, booked)',
  ),
  bug(
    'outbox',
    'a-refused-batch-refuses-its-first-row',
    'Isolation',
    'if (batch.items.length === 1) {',
    'if (batch.items.length >= 1) {',
  ),
  bug(
    'outbox',
    'rounds-end-early',
    'pushRounds',
    'const left = await firstPlanned(ledger, job)\n    if (left === null) break',
    'if (round === 1) break',
  ),
  bug(
    'outbox',
    'segments-end-before-time-is-up',
    'pushRounds',
    'if (slice.isOver()) return false',
    'if (slice.isOver()) return true',
  ),

  bug(
    'staging',
    'first-row-of-a-key-counts',
    'SUPERSEDE_SQL',
    'AND later.ordinal > items.ordinal AND',
    'AND later.ordinal < items.ordinal AND',
  ),
  bug(
    'staging',
    'every-known-key-is-unchanged',
    'ACCEPTED',
    'AND accepted.key = items.key AND accepted.hash = items.hash`',
    'AND accepted.key = items.key AND accepted.hash IS NOT NULL`',
  ),
  bug(
    'staging',
    'changing-files-are-read',
    'inputFile',
    'return stampOfStats(await handle.stat({ bigint: true })) !== stamp',
    `return stampOfStats(await handle.stat({ bigint: true })) === ''`,
  ),
  bug(
    'staging',
    'keys-are-sent-as-they-are',
    'itemKey',
    'const text = seenText(value)',
    'const text = composed(value)',
    {
      in: 'normaliseValue',
      from: "return typeof value === 'string' ? seenText(value) : value",
      to: "return typeof value === 'string' ? composed(value) : value",
    },
  ),
  bug(
    'staging',
    'other-addresses-are-believed',
    'sqlite/stagingMethods',
    "elsewhere: elsewhere?.['run'],",
    'elsewhere: elsewhere && null,',
  ),
  bug(
    'staging',
    'rows-are-read-twice',
    'readRows',
    'await writes.start(() => ledger.stageItems(run, fence, part))',
    'await writes.start(() => ledger.stageItems(run, fence, part.slice(0, 40)))',
  ),

  bug(
    'staging',
    'parts-choose-their-rows-alone',
    'readRows',
    'const items = rows.map((row) => withWatermark(corrected.staged(plan.map(row)), row))',
    `const others = new Set([...(filter?.others() ?? [])].flat())
      const items = rows
        .map((row) => withWatermark(corrected.staged(plan.map(row)), row))
        .map((item) => (others.has(item.ordinal) ? { ...item, key: item.key + '~' } : item))`,
  ),

  bug(
    'deletions',
    'unproven-writes-are-deleted',
    'doubtOfLedger',
    `if (accepted.hash === null || accepted.marks === null) return unproven('write_unproven')`,
    '',
    // A record that holds what was sent last before, and that nobody has changed since, may go.
    {
      in: 'LeftAsIs',
      from: 'if (held === mark) continue',
      to: 'if (held === mark || accepted.hash === null) continue',
    },
    {
      in: 'LeftAsIs',
      from: 'const isLater = this.#isLater',
      to: 'const isLater = accepted.hash !== null && this.#isLater',
    },
    // What was in flight when a workflow ended is looked up before the next run begins, and by the upkeep of workers.
    {
      in: 'importActivities',
      from: 'const abandoning = (gone: Run) => settle(work, gone, env)',
      to: 'const abandoning = async (gone: Run) => void (gone.id < 0 && (await settle(work, gone, env)))',
    },
    {
      in: 'abandonment',
      from: 'await settleInFlight({ ...scope',
      to: 'if (run.id < 0) await settleInFlight({ ...scope',
    },
  ),
  bug(
    'deletions',
    'changed-records-are-deleted',
    'verdictOf',
    'if (change === null) return null\n',
    'if (change === null || change !== null) return null\n',
  ),
  bug(
    'deletions',
    'comparisons-count-as-writes',
    'LeftAsIs',
    '(await this.#writer(wrote ?? run))',
    '(await this.#writer(Math.max(wrote ?? run, run)))',
  ),
  bug(
    'deletions',
    'rows-that-are-there-are-missing',
    'removalTexts',
    "WHERE gone.key IS NOT NULL AND NOT ${isPresent('gone.key')}",
    'WHERE gone.key IS NOT NULL',
    // What is left of such a removal is told from the rows of the run right before it is sent.
    { in: 'judge', from: 'recordId !== null && own.has(recordId)', to: 'recordId === null' },
  ),
  bug(
    'deletions',
    'keyless-rows-hold-nothing-back',
    'Planner',
    `return this.#keyless > 0 ? 'not_sent' : 'pending'`,
    `return this.#keyless < 0 ? 'not_sent' : 'pending'`,
  ),
  bug(
    'deletions',
    'removals-in-flight-are-forgotten',
    'removalClosing',
    'yield* read(flying, [run, first, last])',
    'yield* read(flying, [run, first, first - 1])',
  ),

  bug(
    'deletions',
    'what-leaves-the-filter-is-gone',
    'KeysOfSource',
    'const found = new Set<string>()',
    'const found = new Set<string>()\n    if (given.length > 0) return found',
  ),
  bug(
    'deletions',
    'changed-files-delete',
    'SourceAsRead',
    '=== this.#stamp ? [] : missing',
    '=== this.#stamp ? [] : missing.slice(missing.length)',
  ),

  bug(
    'mirror',
    'changes-begin-late',
    'changesFrom',
    'formatInstant(Date.parse(watermark) - overlapMs)',
    'formatInstant(Date.parse(watermark) + overlapMs)',
  ),
  bug(
    'mirror',
    'the-position-goes-ahead-of-the-rows',
    'readChanges',
    'await merger.take(page.records.map(rowOf), page.askedAt, () => {',
    `if (reached !== null) moveTo(known().watermark, reached)
        await work.account.store()
        await merger.take(page.records.map(rowOf), page.askedAt, () => {`,
  ),
  bug(
    'mirror',
    'times-that-go-back-are-late',
    'mergeLatest',
    `WHEN l.version < t."_version" THEN 'reverted'`,
    `WHEN l.version < t."_version" THEN 'older'`,
  ),
  bug(
    'mirror',
    'restores-in-a-run-go-unnoticed',
    'compareCounts',
    'await checkNewest(work)\n',
    'if (surplus < -1e9) await checkNewest(work)\n',
    // The next run of changes looks for what was put back before it began.
    {
      in: 'checkWentBack',
      from: 'const lacked = { after: null, limit: ASKED_MAX,',
      to: 'const lacked = { after: null, limit: 0 * ASKED_MAX,',
    },
  ),
  bug(
    'mirror',
    'late-answers-count',
    'mergeLatest',
    `coalesce(l.version <= t."_version", true) THEN 'older'`,
    `coalesce(l.version <= t."_version", true) AND l.last_seen IS NULL THEN 'older'`,
    // Who has lost a stream merges nothing into its table.
    {
      in: 'storePosition',
      from: ' AND fence = ',
      to: ' AND fence >= ',
    },
    {
      in: 'mergeLatest',
      from: `WHEN l.version < t."_version" THEN 'reverted'`,
      to: `WHEN l.version < t."_version" THEN 'changed'`,
    },
  ),
  bug(
    'mirror',
    'records-that-come-back-stay-deleted',
    'mergeLatest',
    'CASE WHEN j.deleted < l.last_seen THEN NULL ELSE j.deleted END',
    'j.deleted',
  ),
  bug(
    'mirror',
    'what-a-listing-lacks-is-deleted',
    'sweepDeletions',
    'const gone = await confirmGone(work, asked)',
    'const gone = [...asked]',
    // A listing lacks a record only if it ends before its last page.
    {
      in: 'readPages',
      from: 'if (page.cursor === null || isPast',
      to: 'if (page.cursor === null || page.records.length === 0 || isPast',
    },
  ),
  bug(
    'mirror',
    'many-deletions-ask-nobody',
    'deletionPermission',
    'const isLittle = all <= unasked ||',
    'const isLittle = all >= unasked ||',
  ),
  bug(
    'mirror',
    'counts-that-differ-are-complete',
    'judge',
    'if (surplus === 0) return\n',
    'if (surplus >= -1e9) return\n',
  ),
  bug(
    'mirror',
    'types-that-are-gone-go-unsaid',
    'noteLostTypes',
    'selectTypes({ object_types: wanted, except }, types).unlisted',
    'selectTypes({ object_types: wanted, except }, types).unlisted.slice(types.length)',
  ),
  bug(
    'mirror',
    'known-prefixes-only',
    'known',
    `for (const prefix of ['svc_', own, 'hs_', 'sys_', ''])`,
    `for (const prefix of ['svc_', own && null, 'hs_', 'sys_', ''])`,
    {
      in: 'known',
      from: 'if (found.length > 0) return found.length === 1 ? found[0]! : null',
      to: 'if (found.length > 0) return null',
    },
  ),
  bug(
    'mirror',
    'long-numbers-are-rounded',
    'parseJson',
    'return parseLossless(text) as Json',
    'return JSON.parse(text) as Json',
  ),
  bug(
    'mirror',
    'everything-compares-equal',
    'suspectOf',
    `return difference.kind === 'equal' ? null`,
    `return held !== undefined || difference.kind === 'equal' ? null`,
  ),
  bug(
    'mirror',
    'gone-records-send-no-heartbeat',
    'Reader',
    'const result = await withHeartbeat(this.#deps, request(this.#options))',
    'const result = await request(this.#options)',
  ),
  bug(
    'mirror',
    'tables-belong-to-nobody',
    'MirrorWork',
    'return await this.deps.connect(from, parseOrgRef(holder.owner), sight)',
    'return await this.deps.connect(from, null, sight)',
  ),

  bug(
    'gates',
    'other-orgs-are-fit',
    'KeyOrgs',
    'return known !== undefined && known.orgId === home.orgId && less(known, sight) === null',
    'return known !== undefined && (home.orgId > 0 || less(known, sight) === null)',
  ),
  bug(
    'gates',
    'runs-have-no-home',
    'ImportWork',
    'const home = await this.#homeOf(row)',
    'const home = (await this.#homeOf(row)) && null',
  ),
  bug(
    'gates',
    'keys-go-to-other-services',
    'readKeyOf',
    'if (fresh?.service !== service)',
    'if (fresh === undefined)',
  ),
  bug(
    'gates',
    'projects-share-their-work',
    'taskQueueOf',
    'export const taskQueueOf = (project: string): string =>',
    `export const taskQueueOf = (project: string): string => 'all' ||`,
    // Who gets work of a run that its ledger does not hold gives it back.
    {
      in: 'guardActivities',
      from: 'if (await isOwn(input[0])) return',
      to: 'if ((await isOwn(input[0])) || input.length >= 0) return',
    },
  ),
  bug(
    'gates',
    'live-workflows-count-as-gone',
    'isLiveWorkflow',
    `if (description?.status.name !== 'RUNNING') return false`,
    `if (description?.status.name !== 'PAUSED') return false`,
  ),

  bug(
    'verification',
    'rejects-are-complete',
    'finalState',
    `if (rejects > 0) return 'complete_with_rejects'`,
    '',
  ),
  bug(
    'verification',
    'leftovers-stay-open',
    'closeImport',
    'await ledger.settleLeftovers(run)\n  const books',
    'const books',
  ),
  bug(
    'verification',
    'everything-reads-back-equal',
    'verdictReader',
    'const fields = record ? differingFields(sent, held, typeOf).filter(isChecked) : []',
    'const fields = record ? differingFields(sent, sent, typeOf).filter(isChecked) : []',
  ),
  bug(
    'verification',
    'differences-are-complete',
    'finalState',
    'return found.left + countKnownDifferent(books) + countWaiting(books) > 0',
    'return found.left + countWaiting(books) > 0',
  ),
  bug(
    'verification',
    'the-first-page-is-read-back',
    'verify',
    'after = items.at(-1)!.ordinal\n',
    'after = items.at(-1)!.ordinal + 1_000\n',
  ),

  bug(
    'verification',
    'forms-of-the-service-are-sent-again',
    'readBackResult',
    'if (others.length === 0 && readBack === lastRead)',
    'if (others.length === 0 && readBack === null)',
  ),
  bug(
    'verification',
    'reading-back-starts-over',
    'verificationMethods',
    'AND ?3 IS NOT NULL OR verified IS NULL',
    'AND ?3 IS NOT NULL OR 1 = 1',
    // A read that fails is tried again.
    {
      in: 'createOperationCaller',
      from: 'const retries = isRead ? (options.retries ?? deps.retries) : 0',
      to: 'const retries = isRead ? 0 * (options.retries ?? deps.retries) : 0',
    },
  ),

  bug(
    'pacing',
    'no-limit-and-no-gate-after-a-refusal',
    'whenNext',
    'if (t < gate.until) return gate.until',
    'if (t < gate.until && t < 0) return gate.until',
    // Each of the two alone is enough: a refusal teaches the limit.
    {
      in: 'whenNext',
      from: 'return isRestricted ? whenNextOfLimit(memory, interactive, t) : 0',
      to: 'return isRestricted ? 0 * whenNextOfLimit(memory, interactive, t) : 0',
    },
  ),
  bug('pacing', 'a-clock-set-back-stops-requests', 'Pacer', '    this.noteClock()\n', ''),
  bug(
    'protection',
    'doubts-by-another-address-are-forgotten',
    'acceptedTexts',
    'WHERE destination IN ${SAME_AT_ANY_ADDRESS}',
    'WHERE destination = ${DESTINATION}',
  ),
  bug(
    'pacing',
    'a-clock-set-back-keeps-who-waits',
    'OrgQuota',
    '      this.users.clockSetBack(t)\n',
    '',
  ),
  bug(
    'pacing',
    'retry-after-is-in-ms',
    'parseRetryAfter',
    'return Math.min(Number(text) * 1_000, maxMs)',
    'return Math.min(Number(text), maxMs)',
  ),
  bug(
    'pacing',
    'unused-permits-are-kept',
    'Pacer',
    "unused: () => close('unused'),",
    'unused: () => {},',
  ),

  bug(
    'client',
    'a-clock-set-back-keeps-usual-requests',
    'createDiscovery',
    'nowMs >= untilMs || nowMs < sinceMs',
    'nowMs >= untilMs',
  ),
  bug(
    'client',
    'writes-are-retried',
    'createOperationCaller',
    `const retries = isRead ? (options.retries ?? deps.retries) : 0`,
    `const retries = isRead ? (options.retries ?? deps.retries) : 2`,
  ),
  bug(
    'client',
    'new-keys-are-not-read',
    'attempt',
    'if (!mayRefresh || !(await keys.refresh(key))) throw await refusal(context, error, key)',
    'if (mayRefresh || !(await keys.refresh(key))) throw await refusal(context, error, key)',
  ),
  bug(
    'client',
    'requests-without-a-time-limit',
    'Exchange',
    'this.timer = setTimeout(this.onDeadline, this.options.timeoutMs)',
    'this.timer = undefined',
  ),

  bug(
    'privacy',
    'rows-are-logged',
    'Delivery',
    '{ run: this.#job.run, batch: batch.batch, attempt: batch.attempt, status, code, kind },',
    '{ run: this.#job.run, batch: batch.batch, items: batch.items, attempt: batch.attempt, status, code, kind },',
  ),
  bug(
    'privacy',
    'keys-of-rows-cross-temporal',
    'pushRows',
    'return { ...pushed, next: next?.ordinal ?? null, progress, errors }',
    'return { ...pushed, next: next?.ordinal ?? null, progress, errors, at: next?.key }',
  ),
  bug(
    'privacy',
    'api-keys-are-logged',
    'attempt',
    'const keyed = key === null ? request : withKey(request, key)',
    'const keyed = key === null ? request : withKey(request, key)\n    context.logger.debug({ headers: keyed.headers }, "request")',
  ),

  bug(
    'running',
    'blocked-runs-fail',
    'blockedBy',
    `const blockedBy = (blocked: Blocked) =>\n  later('Blocked', blocked.message, blocked.retryAfterMs, blocked)`,
    `const blockedBy = (blocked: Blocked) => final('Blocked', blocked.message)`,
  ),
  bug(
    'running',
    'waits-send-no-heartbeat',
    'Waits',
    '  #beat({ clock, beat }: Pulse): void {\n    this.#beatAt = clock.now()\n    beat()',
    '  #beat({ clock, beat }: Pulse): void {\n    this.#beatAt = clock.now()\n    if (EVERY_MS < 0) beat()',
  ),
  bug(
    'running',
    'many-short-waits-send-no-heartbeat',
    'Waits',
    'if (Math.abs(pulse.clock.now() - this.#beatAt!) >= EVERY_MS) this.#beat(pulse)',
    'void pulse',
  ),
  bug(
    'running',
    'orphans-are-closed-at-once',
    'abandonment',
    'await clock.sleep(Math.max(0, await drainInFlight({ ledger, clock }, run)))',
    'await clock.sleep(0 * (await drainInFlight({ ledger, clock }, run)))',
  ),
  bug(
    'running',
    'orphans-stay',
    'orphanCleanup',
    'if (before !== done) continue',
    'if (before !== done || before === done) continue',
  ),

  bug(
    'running',
    'replaced-ledgers-are-used',
    'FileWatch',
    'if (this.#identity?.isReplaced()) throw',
    'if (this.#identity === undefined) throw',
    // What is in the place of the file is older as soon as one has written to the other.
    {
      in: 'FileWatch',
      from: 'isOlder = this.#counter?.isBack()',
      to: 'isOlder = this.#counter === undefined',
    },
  ),

  bug(
    'fences',
    'segments-without-fence',
    'checkSegmentFence',
    `if (Number(row?.['fence']) !== fence) throw`,
    `if (Number(row?.['fence']) < 0) throw`,
  ),
  bug(
    'fences',
    'staging-without-fence',
    'sqlite/checkStageFence',
    `if (Number(row?.['stage_fence']) !== fence) throw`,
    `if (Number(row?.['stage_fence']) < 0) throw`,
  ),
  bug(
    'fences',
    'claim-raises-no-fence',
    'outboxStatements',
    'UPDATE segments SET fence = fence + 1 WHERE',
    'UPDATE segments SET fence = fence WHERE',
  ),
  bug(
    'fences',
    'closed-runs-are-staged-again',
    'sqlite/stagingMethods',
    `AND state IN (\${liveStates}) RETURNING stage_fence`,
    `AND state <> '' RETURNING stage_fence`,
    // An activity that begins asks for the state of its run.
    {
      in: 'runStates',
      from: 'if (LIVE_STATES.includes(run.state)) return run',
      to: 'if (LIVE_STATES.length > 0) return run',
    },
  ),
  bug(
    'fences',
    'staging-keeps-old-items',
    'stagingMethods',
    'await deleteWork(db, run, (table, rows) => {',
    'if (run < 0) await deleteWork(db, run, (table, rows) => {',
  ),

  bug(
    'deadlines',
    'deadlines-never-end',
    'Deadline',
    'return this.ms - Math.max(',
    'return 1e12 + this.ms - Math.max(',
  ),
  bug(
    'deadlines',
    'writes-are-sent-late',
    'Exchange',
    ': this.request.sendBefore?.isOver()',
    ': this.request.sendBefore === undefined && false',
  ),
  bug(
    'deadlines',
    'writes-may-be-an-hour-old',
    'sendDeadline',
    'new Deadline(maxWriteAgeMs(tuning))',
    'new Deadline(180 * maxWriteAgeMs(tuning))',
  ),
  bug(
    'deadlines',
    'no-wait-for-what-is-in-flight',
    'waitAfter',
    'return Math.min(ageMaxMs(run), Date.parse(instant) + ageMaxMs(run) - now())',
    'return 0 * now()',
  ),
  bug(
    'deadlines',
    'clock-that-jumps-ends-no-deadline',
    'Deadline',
    'Math.max(performance.now() - this.#monotonic, Date.now() - this.#wall)',
    'Math.min(performance.now() - this.#monotonic, Date.now() - this.#wall)',
  ),

  bug(
    'protection',
    'every-value-is-a-first-contact',
    'fateOf',
    "if (base === null && firstContact === 'ours')",
    "if (firstContact === 'ours')",
  ),
  bug(
    'protection',
    'emptied-values-are-written',
    'fateOf',
    'if (base === null && isEmpty) return WRITE',
    'if (isEmpty) return WRITE',
  ),
  bug(
    'protection',
    'filled-values-are-written',
    'fateOf',
    "if (write === 'if_empty' && !isEmpty)",
    "if (write === 'if_empty' && base === null && !isEmpty)",
  ),
  bug(
    'protection',
    'what-was-kept-is-not-said',
    'keptJson',
    'kept.length === 0 ? null : writeJson(',
    'kept.length >= 0 ? null : writeJson(',
  ),
  bug(
    'protection',
    'what-the-record-has-is-the-base',
    'valueProtector',
    'base: before.base(property)',
    'base: before.base(property) === null ? null : markOf(property, theirs)',
  ),
  bug(
    'protection',
    'old-look-ups-are-believed',
    'LOOK_AGE_MAX_MS',
    'const LOOK_AGE_MAX_MS = 5_000',
    'const LOOK_AGE_MAX_MS = 500_000',
  ),
  bug(
    'undo',
    'changed-values-are-restored',
    'changedSince',
    'return new Set(isAsRead ? differing.filter((name) => !others.includes(name)) : differing)',
    'return new Set(isAsRead ? differing.filter((name) => !others.includes(name)) : [])',
  ),

  bug(
    'approval',
    'stale-plans-are-written',
    'RowChooser',
    'return conflict === null ? [] : [[image.ordinal, conflict] as const]',
    'return conflict === null || ordinals.length > 0 ? [] : [[image.ordinal, conflict] as const]',
  ),
  bug(
    'approval',
    'nobody-is-asked',
    'reviewLimits',
    'const isAsked = rules.always && job.isAsked !== false',
    'const isAsked = rules.always && job.isAsked === false',
  ),

  bug(
    'schedules',
    'pauses-of-people-are-taken-back',
    'judgeOf',
    'state.paused && isNoteFor(state.note, name, sync) ?',
    'state.paused && name !== "" ?',
  ),
  bug(
    'schedules',
    'what-was-paused-stays-paused',
    'judgeOf',
    "const isWell = (from === 'blocked' && to === 'running') || isComplete(to)",
    "const isWell = from === 'blocked' && to === 'cancelled' && isComplete(to)",
  ),
  bug(
    'schedules',
    'apply-takes-pauses-back',
    'updateSchedule',
    'state: found.raw.schedule?.state ?? null',
    'state: null',
  ),
  ...PLANTED_IN_POSTGRES,
  ...PLANTED_IN_QUERIES,
  ...PLANTED_IN_PLANS,
  bug(
    'outbox',
    'the-ledger-does-not-wait-for-the-disk',
    'openLedgerDatabase',
    "{ synchronous: 'full', setUp: 'new', ...options }",
    "{ synchronous: 'normal', setUp: 'new', ...options }",
  ),
  bug(
    'links',
    'lost-links-count-as-linked',
    'LinkDelivery',
    '        isDoubtful ||= failure.outcomeUnknown\n',
    `        if (failure.outcomeUnknown)
          return { outcome: answered(sent, 'linked', { status: 201, requestId: null }) }
`,
  ),
  bug(
    'links',
    'remembered-records-have-their-keys',
    'RecordFinder',
    'const ids = new Set(found.ofKey.get(key)?.keys())',
    'const ids = new Set(hints.has(key) ? [hints.get(key)!] : found.ofKey.get(key)?.keys())',
  ),
  bug(
    'links',
    'gone-records-keep-their-links',
    'noteRecordsGone',
    'await ledger.recordsGone(run, objectType, ids)',
    'await ledger.recordsGone(run, objectType, ids.slice(0, 0))',
  ),
  bug(
    'links',
    'waiting-links-outlive-their-row',
    'begin',
    'await ledger.forgetLinks(row.id, fence, { of }, onSlice)',
    'if (of.length === 0) await ledger.forgetLinks(row.id, fence, { of }, onSlice)',
  ),
]
