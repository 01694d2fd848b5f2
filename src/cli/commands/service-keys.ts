// `records-sync service keys`: mints, lists and revokes the API keys of a service's data file.

import { ConfigError } from '../../core/errors.ts'
import {
  listStoredKeys,
  mintStoredKey,
  readSchemaFile,
  revokeStoredKey,
  type Grant,
  type Grants,
} from '../../service/index.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import { printJson } from '../json.ts'

export interface MintCommandOptions {
  readonly data: string
  readonly org?: number
  readonly user?: string
  readonly admin: boolean
  readonly reach: 'user' | 'org'
  /** `svc_contact` for reading and writing, `svc_contact:read` for reading. */
  readonly grant: readonly string[]
  /** Schema file whose types a grant may name. */
  readonly schema?: string
}

export function mintKey({ terminal, json }: CommandContext, options: MintCommandOptions): number {
  const grants = grantsOf(options.grant)
  const minted = mintStoredKey(options.data, {
    ...(options.org === undefined ? {} : { orgId: options.org }),
    ...(options.user === undefined ? {} : { userId: options.user }),
    admin: options.admin,
    reach: options.reach,
    grants,
    ...(options.schema === undefined
      ? {}
      : { types: [...readSchemaFile(options.schema).types.keys()] }),
  })
  const { token, fingerprint, orgId, orgIsNew, userId } = minted
  if (json) {
    const org = { org_id: orgId, org_is_new: orgIsNew }
    printJson(terminal, { key: token, fingerprint, ...org, user_id: userId, grants })
  } else {
    terminal.out(token)
    terminal.err(
      `The key ${fingerprint} of ${userId}, org ${orgId}${orgIsNew ? ', which is new' : ''}. It is shown this once; only its hash is kept.`,
    )
    terminal.err(
      grants === 'all'
        ? 'It reads and writes every type: --grant TYPE or TYPE:read limits it.'
        : `It may use: ${grantsText(grants)} (writing too, but where it says read).`,
    )
  }
  return EXIT.done
}

export function listKeys({ terminal, json }: CommandContext, options: { data: string }): number {
  const keys = listStoredKeys(options.data)
  if (json) {
    for (const key of keys) {
      const { orgId: org_id, userId: user_id, createdAt: created_at, revokedAt, ...of } = key
      printJson(terminal, { ...of, org_id, user_id, created_at, revoked_at: revokedAt })
    }
    return EXIT.done
  }
  if (keys.length === 0) terminal.out('No keys yet: mint one with "records-sync service keys mint"')
  for (const key of keys) {
    const state = key.revokedAt === null ? 'live' : `revoked ${key.revokedAt}`
    terminal.out(
      `${key.fingerprint}  org ${key.orgId}  ${key.userId}  reach ${key.reach}  ${grantsText(key.grants)}  ${state}`,
    )
  }
  return EXIT.done
}

export function revokeKey(
  { terminal, json }: CommandContext,
  fingerprint: string,
  options: { data: string },
): number {
  revokeStoredKey(options.data, fingerprint)
  if (json) printJson(terminal, { revoked: fingerprint })
  else terminal.out(`Revoked ${fingerprint}: the next request with it is refused`)
  return EXIT.done
}

function grantsOf(words: readonly string[]): Grants {
  if (words.length === 0) return 'all'
  const grants: Record<string, Grant> = {}
  for (const word of words) {
    const [type = '', mode = 'write', ...rest] = word.split(':')
    if (type === '' || rest.length > 0 || !['read', 'write'].includes(mode)) {
      const message = `TYPE, TYPE:write or TYPE:read was expected, got ${JSON.stringify(word)}`
      throw new ConfigError('--grant', message)
    }
    grants[type] = { read: true, write: mode === 'write' }
  }
  return grants
}

function grantsText(grants: Grants): string {
  if (grants === 'all') return 'all types'
  return Object.entries(grants)
    .map(([type, { write }]) => (write ? type : `${type}:read`))
    .join(',')
}
