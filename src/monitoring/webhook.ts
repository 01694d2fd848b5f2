// One notification to one webhook. Promises kept here: it ends within its time, whatever the receiver does; no message contains
// its URL, which is a secret; no redirect is followed, and the answer's body is not read.

import { readSecret, type Environment, type SecretSource } from '../../config/index.ts'
import { SyncError } from '../core/errors.ts'
import type { Clock } from '../core/ports.ts'

/** Longest delivery, ms, including all attempts and waits. */
export const DELIVERY_MAX_MS = 9_000
const SECRET_MAX_MS = 3_000
const TRY_MAX_MS = 2_500
/** Before the second attempt and before the third. */
const WAITS_MS = [300, 1_000]

/** Posts `body` as JSON, at most three times. Returns why it was not accepted, for people; null if it was. Never rejects. */
export async function postWebhook(
  source: SecretSource,
  body: object,
  { env, clock }: { readonly env: Environment; readonly clock: Clock },
): Promise<string | null> {
  const endMs = performance.now() + DELIVERY_MAX_MS
  let url: URL
  try {
    url = await readWebhookUrl(source, env)
  } catch (error) {
    return error instanceof SyncError ? error.message : 'its URL cannot be read'
  }
  for (let attempt = 0; ; attempt++) {
    const leftMs = endMs - performance.now()
    const { refusal, isFinal } = await post(url, body, Math.min(TRY_MAX_MS, Math.max(1, leftMs)))
    const waitMs = WAITS_MS[attempt]
    if (refusal === null || isFinal || waitMs === undefined) return refusal
    if (endMs - performance.now() <= waitMs) return refusal
    await clock.sleep(waitMs)
  }
}

/**
 * The URL that a notification is posted to. No message contains any of it.
 * @throws SyncError `secret_unavailable`, `notification_url_invalid`
 */
export async function readWebhookUrl(source: SecretSource, env: Environment): Promise<URL> {
  const text = await readSecret(source, env, { timeoutMs: SECRET_MAX_MS })
  const refuse = (message: string) => new SyncError('notification_url_invalid', message)
  if (!URL.canParse(text))
    throw refuse('its URL is none; one that begins with https:// was expected')
  const url = new URL(text)
  if (url.username !== '' || url.password !== '')
    throw refuse('its URL has a user name or a password, which cannot be sent')
  const isHere = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isHere)) return url
  throw refuse(
    'its URL was expected to begin with https:// (http:// only for localhost, 127.0.0.0/8 and [::1])',
  )
}

async function post(
  url: URL,
  body: object,
  timeoutMs: number,
): Promise<{ refusal: string | null; isFinal: boolean }> {
  let answer: Response
  try {
    answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'records-sync' },
      body: JSON.stringify(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    })
  } catch (error) {
    return { refusal: `no answer came (${kindOf(error)})`, isFinal: false }
  }
  await answer.body?.cancel().catch(() => {})
  const { status } = answer
  if (status >= 200 && status <= 299) return { refusal: null, isFinal: true }
  if (status >= 300 && status <= 399)
    return { refusal: `it answered ${status}, and no redirect is followed`, isFinal: true }
  const isFinal = status < 500 && status !== 408 && status !== 425 && status !== 429
  return { refusal: `it answered ${status}`, isFinal }
}

/** A word for a failure, from a list: a foreign message may quote the URL. */
function kindOf(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { code?: unknown } }
  if (name === 'TimeoutError') return 'timeout'
  const code = cause?.code
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,40}$/.test(code) ? code : 'network'
}
