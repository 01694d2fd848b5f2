// Keys in a data file, whether a service runs on it or not (sections 5.3, 5.5 and 5.9). A running service notices a change
// with its next request.

import { existsSync } from 'node:fs'
import { randomInt } from 'node:crypto'
import { SyncError } from '../../core/errors.ts'
import { DataFile, type ListedKey } from './data-file.ts'
import type { KeyOptions } from './directory.ts'
import { ADMINISTRATOR, USER_ID, newKey, type OrgUser } from '../auth/keys.ts'
import { describeValue } from '../problems.ts'
import { SYSTEM_TYPES } from '../schema/system-types.ts'

export interface MintOptions extends KeyOptions {
  /** Default: the only org of the file; the first one is created if there is none. */
  readonly orgId?: number
  /** Id of the key's creator, who is added to the org if unknown. Default: the administrator. */
  readonly userId?: string
  /** Adds the creator as an administrator. */
  readonly admin?: boolean
  /** Types that grants may name, in addition to the system's and those that the service last had on this file. */
  readonly types?: readonly string[]
}

export interface MintedKey {
  /** Shown here and never again. */
  readonly token: string
  readonly fingerprint: string
  readonly orgId: number
  /** Whether the org was created for this key. */
  readonly orgIsNew: boolean
  readonly userId: string
}

/** Adds a key to the file, and creates the file if there is none. @throws SyncError data_file_…, service_options */
export function mintStoredKey(path: string, options: MintOptions = {}): MintedKey {
  const file = new DataFile(path)
  try {
    checkGrants(file, options)
    const before = file.orgIds()
    const orgId = orgOf(file, options.orgId)
    const user = userOf(file, orgId, options)
    const { token, key } = newKey({ ...options, orgId, user }, Date.now())
    file.addKey(key)
    return {
      token,
      fingerprint: key.fingerprint,
      orgId,
      orgIsNew: !before.includes(orgId),
      userId: user.id,
    }
  } finally {
    file.close()
  }
}

/** Every key of the file, including revoked ones, the oldest first. @throws SyncError data_file_… */
export function listStoredKeys(path: string): ListedKey[] {
  return withFile(path, (file) => file.keys().map(({ hash: _hash, ...key }) => key))
}

/** Takes effect on the next request. @throws SyncError data_file_…, service_key_unknown */
export function revokeStoredKey(path: string, fingerprint: string): void {
  withFile(path, (file) => {
    if (file.revokeKey(fingerprint, new Date().toISOString())) return
    throw new SyncError(
      'service_key_unknown',
      `The data file ${path} has no live key with the fingerprint ${fingerprint}: see its list of keys`,
    )
  })
}

function withFile<Result>(path: string, work: (file: DataFile) => Result): Result {
  if (!existsSync(path)) {
    throw new SyncError('data_file_missing', `There is no data file at ${path}`)
  }
  const file = new DataFile(path)
  try {
    return work(file)
  } finally {
    file.close()
  }
}

/** @throws SyncError service_options for a grant on a type that does not exist */
function checkGrants(file: DataFile, { grants = 'all', types = [] }: MintOptions): void {
  if (grants === 'all') return
  const known = new Set([...SYSTEM_TYPES.keys(), ...(file.typeNames() ?? []), ...types])
  const unknown = Object.keys(grants).find((name) => !known.has(name))
  if (unknown === undefined) return
  const detail = `grant: there is no object type ${describeValue(unknown)}; there are ${[...known].join(', ')}. Types of an org's own are known by the schema file, or once the service has run with it on this data file`
  throw new SyncError('service_options', detail)
}

function orgOf(file: DataFile, wanted: number | undefined): number {
  const ids = file.orgIds()
  if (wanted === undefined && ids.length > 1) {
    const detail = `The data file ${file.path} has several orgs: name one of ${ids.join(', ')}`
    throw new SyncError('service_options', detail)
  }
  const id = wanted ?? ids[0] ?? randomInt(100_000, 2 ** 31)
  if (!ids.includes(id)) file.addOrg(id)
  return id
}

function userOf(file: DataFile, orgId: number, options: MintOptions): OrgUser {
  const { userId = ADMINISTRATOR.id, admin = false } = options
  if (userId === ADMINISTRATOR.id) return ADMINISTRATOR
  if (!USER_ID.test(userId)) {
    const detail = 'user: an id of 1 to 64 letters, digits, - or _ was expected'
    throw new SyncError('service_options', detail)
  }
  const known = file.users(orgId).find((user) => user.id === userId)
  if (known && admin && !known.admin) {
    throw new SyncError(
      'service_options',
      `admin: there is a user ${userId} already, who is no administrator`,
    )
  }
  const user = known ?? { id: userId, displayName: userId, admin, permissions: 'all' as const }
  if (!known) file.putUser(orgId, user)
  return user
}
