// One notification to one webhook. Promises kept here: it ends within its time, whatever the receiver does; no message contains
// its URL, which is a secret; no redirect is followed, and the answer's body is not read.

import {
  readSecret,
  type Environment,
  type NotificationConfig,
  type SecretSource,
} from '../../config/index.ts'
import { SyncError } from '../core/errors.ts'
import { networkFault, ownTls } from '../core/network-faults.ts'
import { createConnect, greetTls } from '../outbound/connect.ts'
import { readCa } from '../outbound/pem.ts'
import { postJson } from '../outbound/post.ts'
import { proxyFor } from '../outbound/proxy.ts'
import type { Clock } from '../core/ports.ts'

/** Longest delivery, ms, including all attempts and waits. */
export const DELIVERY_MAX_MS = 9_000
const SECRET_MAX_MS = 3_000
const TRY_MAX_MS = 2_500
/** Before the second attempt and before the third. */
const WAITS_MS = [300, 1_000]

/** Posts `body` as JSON, at most three times. Returns why it was not accepted, for people; null if it was. Never rejects. */
export async function postWebhook(
  settings: Pick<NotificationConfig, 'url' | 'ca'>,
  body: object,
  { env, clock }: { readonly env: Environment; readonly clock: Clock },
): Promise<string | null> {
  const endMs = performance.now() + DELIVERY_MAX_MS
  let url: URL
  let connect: Connect
  try {
    url = await readWebhookUrl(settings.url, env)
    connect = createConnect({
      timeout: TRY_MAX_MS,
      ca: await readWebhookCa(settings.ca),
      proxy: proxyFor(url.origin, env),
    })
  } catch (error) {
    return error instanceof SyncError ? error.message : 'its URL cannot be read'
  }
  for (let attempt = 0; ; attempt++) {
    const leftMs = endMs - performance.now()
    const { refusal, isFinal } = await post(url, body, {
      timeoutMs: Math.min(TRY_MAX_MS, Math.max(1, leftMs)),
      connect,
    })
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

/** The text of the CA that a receiver is checked against. @throws ConfigError that names the setting */
export const readWebhookCa = async (path: string | undefined): Promise<string | undefined> =>
  path === undefined
    ? undefined
    : (await readCa('notification', { setting: 'ca', path })).toString('utf8')

async function post(
  url: URL,
  body: object,
  { timeoutMs, connect }: { readonly timeoutMs: number; readonly connect: Connect },
): Promise<{ refusal: string | null; isFinal: boolean }> {
  const endMs = performance.now() + timeoutMs
  let status: number
  try {
    status = await postJson(url, body, { connect, timeoutMs })
  } catch (error) {
    return {
      refusal: `no answer came${await causeOf(error, url, endMs - performance.now())}`,
      isFinal: false,
    }
  }
  if (status >= 200 && status <= 299) return { refusal: null, isFinal: true }
  if (status >= 300 && status <= 399)
    return { refusal: `it answered ${status}, and no redirect is followed`, isFinal: true }
  const isFinal = status < 500 && status !== 408 && status !== 425 && status !== 429
  return { refusal: `it answered ${status}`, isFinal }
}

type Connect = ReturnType<typeof createConnect>
/** The host is part of a secret, and so are the names of its certificate. */
const WEBHOOK_TLS = { ...ownTls('notification'), showsNames: false }

/** Why, without the host: it is part of a secret. */
async function causeOf(
  error: unknown,
  { protocol, hostname, port }: URL,
  maxMs: number,
): Promise<string> {
  if ((error as { name?: string }).name === 'TimeoutError') return ' (timeout)'
  const fault = networkFault(error, 'its receiver', WEBHOOK_TLS)
  if (fault !== null) return `: ${fault.what}; ${fault.todo}`
  const greeting = () => greetTls(hostname, Number(port || 80), Math.max(1, maxMs))
  const expectsTls = protocol === 'http:' && (await greeting()) !== 'no TLS'
  return expectsTls
    ? ': its receiver expects TLS; write https:// in its URL'
    : ': the connection was closed; see its log'
}
