// The API key, in one closure. Promise kept here: no message, log or property ever shows it; a message describes a bad key by its
// length only.

import { createHash } from 'node:crypto'
import { ServiceFailure, SyncError, type BlockReason } from '../core/errors.ts'

const keyForm = /^[\x21-\x7e]{8,512}$/
const FORM = '8 to 512 printable ASCII characters without spaces were expected'

export const isKeyForm = (text: string): boolean => keyForm.test(text)

/** What is wrong with a text that does not have the form of an API key; it describes the key by its length only. */
export const keyFormText = (from: string, text: string): string =>
  `The ${from} gives ${text.length} characters; ${FORM}`

export interface KeyHolder {
  /** The key, read on first use. */
  current(): Promise<string>
  /** After a 401 for `used`: reads the key again, unless another call has; true if it has changed. */
  refresh(used: string): Promise<boolean>
  /** Reads the key again, even if one is held; if it cannot be read now, the held one stays. */
  renew(): Promise<void>
  /** The key cannot be used: the next use reads it again. */
  forget(used: string): void
  /** 12 hexadecimal digits that identify the key and do not lead back to it. */
  fingerprint(): Promise<string>
}

/** Makes the digest useless against a key that was hashed elsewhere. */
const FINGERPRINT_CONTEXT = 'records-sync/key-fingerprint/v1\0'

/** Every method fails with a `ServiceFailure` that blocks on `auth` if the key cannot be read or used. */
export function holdKey(read: () => Promise<string>): KeyHolder {
  let held: string | null = null
  let reading: Promise<string> | null = null
  const load = () => {
    reading ??= readKey(read)
      .then((key) => (held = key))
      .finally(() => (reading = null))
    return reading
  }
  const current = async () => held ?? (await load())
  /** Of the key that it was asked for last: imports ask after each request. */
  let known = { key: '', fingerprint: '' }
  return {
    current,
    refresh: async (used) => (held === null || held === used ? await load() : held) !== used,
    renew: async () => {
      try {
        await load()
      } catch (error) {
        if (held === null) throw error
      }
    },
    forget: (used) => {
      if (held === used) held = null
    },
    fingerprint: async () => {
      const key = await current()
      if (known.key !== key) known = { key, fingerprint: fingerprintOf(key) }
      return known.fingerprint
    },
  }
}

/** 12 hexadecimal digits that identify the key and do not lead back to it. */
export const fingerprintOf = (key: string): string =>
  createHash('sha256')
    .update(FINGERPRINT_CONTEXT + key)
    .digest('hex')
    .slice(0, 12)

async function readKey(read: () => Promise<string>): Promise<string> {
  let text: string
  try {
    text = await read()
  } catch (error) {
    // Only our own words: a foreign message may quote what it read.
    const why = error instanceof SyncError ? `: ${error.message}` : ''
    throw keyFailure(`The API key could not be read${why}`, 'auth')
  }
  const key = typeof text === 'string' ? text.replace(/\r?\n$/, '') : ''
  if (isKeyForm(key)) return key
  throw keyFailure(`The API key cannot be used: ${FORM}, got ${key.length} characters`, 'auth')
}

/** Nothing is sent with the key, until a person changes it. */
export const keyFailure = (message: string, block: BlockReason): ServiceFailure =>
  new ServiceFailure(message, {
    kind: 'no_answer',
    disposition: 'halt',
    block,
    outcomeUnknown: false,
  })
