// The body of a batch, and one sending of it. What happened is returned and not thrown, because it is recorded first.

import { hash as digestOf } from 'node:crypto'
import type { BatchAnswer } from '../../client/index.ts'
import type { Deadline } from '../../core/deadline.ts'
import { QuotaWait, ServiceFailure } from '../../core/errors.ts'
import { operationOfMode, type ImportOperation } from '../../core/domain/import-modes.ts'
import { writeJson } from '../../core/json.ts'
import { QUOTA_WAIT_MAX_MS } from '../../core/limits.ts'
import type { Permit } from '../../core/ports.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { PlannedItem, RequestOutcome, SentBatch } from '../../ledger/ledger.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import type { ImportClient, ImportDeps } from '../ports.ts'
import { payloadsProperties } from '../look/look-up.ts'

/** The body of a batch: a pure function of its items, so that every sending has the same bytes. */
export function bodyText(
  { mode, matching_property: matching }: Pick<ImportConfig, 'mode' | 'matching_property'>,
  items: readonly PlannedItem[],
): string {
  const texts =
    mode === 'update' ? updateTexts(matching, items) : items.map(({ payload }) => payload)
  return `{"data":[${texts.join(',')}]}`
}

/** Without the key: the record has it, and one that another program has given another key since is not given ours again. */
function updateTexts(matching: string, items: readonly PlannedItem[]): readonly string[] {
  const sent = payloadsProperties(items)
  return items.map(({ recordId }, index) => {
    const { [matching]: _key, ...properties } = sent[index]!
    return writeJson({ id: recordId!, properties })
  })
}

/** SHA-256 of a body, hex. */
export const bodyDigest = (body: string): string => digestOf('sha256', body, 'hex')

type Upsert = Parameters<ImportClient['batchUpsert']>
/** The text of a batch, with the number of its items. */
type Body = Extract<Upsert[2], { readonly count: number }>
type Send = (
  client: ImportClient,
  config: ImportConfig,
  body: Body,
  options: Upsert[3],
) => Promise<BatchAnswer>

const OPERATIONS: Readonly<Record<ImportOperation, Send>> = {
  batchUpsert: (client, config, body, options) =>
    client.batchUpsert(config.object_type, config.matching_property, body, options),
  batchCreate: (client, config, body, options) =>
    client.batchCreate(config.object_type, body, options),
  batchUpdate: (client, config, body, options) =>
    client.batchUpdate(config.object_type, body, options),
}

/** Sends items with the operation of the import's mode. */
export const sendBody: Send = (client, config, body, options) =>
  OPERATIONS[operationOfMode(config.mode)](client, config, body, options)

/** A batch that the ledger has as sent, with its body and the time until which it may be sent. */
export interface RecordedBatch {
  readonly batch: SentBatch
  readonly body: string
  readonly sendBefore: Deadline
}

type SendResult =
  | { readonly kind: 'answer'; readonly answer: BatchAnswer; readonly ended: RequestOutcome }
  /** It was not carried out; `error` ends the work. */
  | { readonly kind: 'wait'; readonly error: unknown; readonly ended: RequestOutcome }
  | { readonly kind: 'failure'; readonly failure: ServiceFailure; readonly ended: RequestOutcome }

export async function sendBatch(
  deps: ImportDeps,
  config: ImportConfig,
  { batch, body, sendBefore }: RecordedBatch,
  right: { readonly permit: Permit; readonly waitsOut429: boolean },
): Promise<SendResult> {
  const { client, clock, priority, signal } = deps
  const startedAt = clock.now()
  const ended = (status: number | null, requestId?: string | null): RequestOutcome => ({
    status,
    requestId: requestId ?? null,
    durationMs: clock.now() - startedAt,
  })
  let answered = 0
  try {
    const sending = sendBody(
      client,
      config,
      { body, count: batch.items.length },
      { ...right, priority, signal, maxWaitMs: QUOTA_WAIT_MAX_MS, sendBefore },
    )
    const answer = await withHeartbeat(deps, sending)
    answered = batch.items.length
    return { kind: 'answer', answer, ended: ended(200, answer.requestId) }
  } catch (error) {
    // The quota refuses a request before any work is done.
    if (error instanceof QuotaWait) return { kind: 'wait', error, ended: ended(429) }
    // The signal does not tear a write that is on its way, so this one was not sent.
    if (signal.aborted && error === signal.reason)
      return { kind: 'wait', error, ended: ended(null) }
    if (!(error instanceof ServiceFailure)) throw error
    const status = error.kind === 'problem' ? (error.status ?? null) : null
    return { kind: 'failure', failure: error, ended: ended(status, error.requestId) }
  } finally {
    deps.beat(answered)
  }
}
