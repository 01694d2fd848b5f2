// Encrypts what Temporal keeps of a run: inputs, results, heartbeat details, memos, summaries. AES-256-GCM. Promises kept here:
// every payload has a nonce of its own; a payload that was changed is refused; the first key encrypts and all of them decrypt, so
// keys can be renewed; unencrypted payloads pass, so a run can be started with plain input.

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import type { Payload, PayloadCodec } from '@temporalio/common'
import type { Environment, SecretSource } from '../../config/index.ts'
import { readSecret } from '../../config/secret.ts'
import { SyncError } from '../core/errors.ts'

/** A payload in JSON, as the server's HTTP interfaces and codec servers use it; bytes are base64. */
export interface PayloadJson {
  readonly metadata?: Readonly<Record<string, string>>
  readonly data?: string
}

const encoding = 'binary/encrypted'
const nonceBytes = 12
const tagBytes = 16

/**
 * The codec of the configured keys; null if there are none.
 * @throws SyncError `secret_unavailable`, `codec_key_invalid`
 */
export async function readCodec(
  sources: readonly SecretSource[],
  env: Environment,
): Promise<PayloadCodec | null> {
  const keys = await Promise.all(
    sources.map(async (source, index) => {
      const text = await readSecret(source, env)
      if (/^[A-Za-z0-9+/]{43}=$/.test(text)) return Buffer.from(text, 'base64')
      throw new SyncError(
        'codec_key_invalid',
        `temporal.encryption_keys[${index}]: expected 32 bytes in base64; make some with: openssl rand -base64 32`,
      )
    }),
  )
  return keys.length === 0 ? null : encryptionCodec(keys)
}

/** @param secrets keys of 32 bytes; the first one encrypts */
export function encryptionCodec(secrets: readonly Buffer[]): PayloadCodec {
  const keys = new Map(secrets.map((secret) => [fingerprint(secret), secret]))
  const [current] = keys.keys()
  return {
    encode: async (payloads) =>
      payloads.map((payload) => encrypt(payload, current!, keys.get(current!)!)),
    decode: async (payloads) => payloads.map((payload) => decrypt(payload, keys)),
  }
}

/** Identifies a key without revealing it: goes into every payload, in plain text. */
function fingerprint(secret: Buffer): string {
  return createHash('sha256')
    .update('records-sync codec key ')
    .update(secret)
    .digest('hex')
    .slice(0, 16)
}

function encrypt(payload: Payload, id: string, secret: Buffer): Payload {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', secret, nonce)
  const hidden = cipher.update(JSON.stringify(payloadToJson(payload)), 'utf8')
  const data = Buffer.concat([nonce, hidden, cipher.final(), cipher.getAuthTag()])
  return {
    metadata: { encoding: Buffer.from(encoding), 'encryption-key-id': Buffer.from(id) },
    data,
  }
}

function decrypt(payload: Payload, keys: ReadonlyMap<string, Buffer>): Payload {
  if (text(payload.metadata?.['encoding']) !== encoding) return payload
  const id = text(payload.metadata?.['encryption-key-id'])
  const secret = keys.get(id)
  if (secret === undefined)
    throw refused(
      'codec_key_unknown',
      `It is encrypted with key ${/^[0-9a-f]{16}$/.test(id) ? id : 'of another program'}, and temporal.encryption_keys has ${[...keys.keys()].join(', ')}; add that key to the list`,
    )
  const data = Buffer.from(payload.data ?? [])
  try {
    const decipher = createDecipheriv('aes-256-gcm', secret, data.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    })
    decipher.setAuthTag(data.subarray(-tagBytes))
    const plain = decipher.update(data.subarray(nonceBytes, -tagBytes))
    const json = Buffer.concat([plain, decipher.final()]).toString('utf8')
    return payloadFromJson(JSON.parse(json) as PayloadJson)
  } catch {
    throw refused(
      'codec_payload_damaged',
      `It is encrypted with key ${id}, but was changed or cut since`,
    )
  }
}

/** Without a stack: the SDK would write it into the history of the run that has such a payload. */
function refused(code: string, message: string): SyncError {
  const error = new SyncError(code, message)
  error.stack = ''
  return error
}

export function payloadToJson({ metadata, data }: Payload): PayloadJson {
  return {
    metadata: Object.fromEntries(
      Object.entries(metadata ?? {}).map(([name, value]) => [name, base64(value)]),
    ),
    ...(data ? { data: base64(data) } : {}),
  }
}

export function payloadFromJson({ metadata = {}, data }: PayloadJson): Payload {
  return {
    metadata: Object.fromEntries(
      Object.entries(metadata).map(([name, value]) => [name, Buffer.from(value, 'base64')]),
    ),
    ...(data === undefined ? {} : { data: Buffer.from(data, 'base64') }),
  }
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}

function text(bytes: Uint8Array | null | undefined): string {
  return bytes ? Buffer.from(bytes).toString('utf8') : ''
}
