// Hashes of passwords: scrypt, with its costs and its salt in the text. Promise kept here: what is compared is compared in constant time.

import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'

/** `scrypt:15:8:3:SALT:KEY`, without a character that a shell or a compose file takes for its own. */
const HASH = /^scrypt:(1[4-7]):8:([1-4]):([\w-]{16,64}):([\w-]{43})$/
/** OWASP's table of costs asks for three passes with 32 MiB. A hash with other costs counts as before. */
const COST = { logN: 15, r: 8, p: 3 } as const
const LOG_N_MIN = 14
const SALT_BYTES = 16
const KEY_BYTES = 32
const MEMORY_MAX = 268_435_456

export const PASSWORD_CHARS_MIN = 12
export const PASSWORD_CHARS_MAX = 1_000

export interface PasswordHash {
  readonly text: string
  readonly logN: number
  readonly p: number
  readonly salt: Buffer
  readonly key: Buffer
}

/** Null if it is none. */
export function parsePasswordHash(text: string): PasswordHash | null {
  const [, logN, p, salt, key] = HASH.exec(text) ?? []
  if (key === undefined) return null
  return {
    text,
    logN: Number(logN),
    p: Number(p),
    salt: Buffer.from(salt!, 'base64url'),
    key: Buffer.from(key, 'base64url'),
  }
}

export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const key = await derive(password, { ...COST, salt })
  const { logN, r, p } = COST
  return `scrypt:${logN}:${r}:${p}:${salt.toString('base64url')}:${key.toString('base64url')}`
}

/** The work of a check, in passes with the least memory. */
export const workOf = ({ logN, p }: Pick<PasswordHash, 'logN' | 'p'>): number =>
  2 ** (logN - LOG_N_MIN) * p

/** @param work what every check takes: how long it takes says nothing of the hash */
export async function isPasswordOf(
  password: string,
  hash: PasswordHash,
  work = workOf(hash),
): Promise<boolean> {
  const isRight = timingSafeEqual(await derive(password, hash), hash.key)
  const more = work - workOf(hash)
  if (more > 0) await derive(password, { logN: LOG_N_MIN, p: more, salt: hash.salt })
  return isRight
}

const derive = (
  password: string,
  { logN, p, salt }: Pick<PasswordHash, 'logN' | 'p' | 'salt'>,
): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const cost = { N: 2 ** logN, r: COST.r, p, maxmem: MEMORY_MAX }
    scrypt(password.normalize('NFC'), salt, KEY_BYTES, cost, (error, key) =>
      error === null ? resolve(key) : reject(error),
    )
  })
