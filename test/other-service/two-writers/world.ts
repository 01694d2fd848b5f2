// What a history of two writers works with: one sync, whose settings a seed chooses, and the moves of both.

import type { ImportSync } from '../../../config/index.ts'
import { configured, type Dice, type SyncSetting } from '../oracle/world.ts'

export const TYPE = 'contact'
/** What the sync gives records that have no status, with `write: if_empty`. */
export const STATUS = 'fair'

export type Policy = 'ours' | 'theirs' | 'reject'

export interface PropertyPolicy {
  readonly onConflict: Policy
  readonly firstContact: 'ours' | 'theirs'
  readonly write: 'always' | 'if_empty'
}

export interface WriterSetting extends SyncSetting {
  readonly constants: Readonly<Record<string, string>>
  readonly onConflict: Policy
  readonly firstContact: 'ours' | 'theirs'
  /** Of one property alone. */
  readonly own: Readonly<Record<string, Partial<PropertyPolicy>>>
  readonly asksByPlan: boolean
}

export function settingOf({ one, often }: Dice): WriterSetting {
  const mode = one('upsert', 'upsert', 'upsert', 'create', 'update')
  // A create changes no record, so there is nothing to protect.
  const isCreate = mode === 'create'
  const onConflict = isCreate ? 'ours' : one('ours', 'ours', 'theirs', 'reject')
  const policies = ['ours', 'theirs', 'reject'] as const
  return {
    name: 'contacts',
    type: TYPE,
    mode,
    empty: isCreate ? 'omit' : one('omit', 'omit', 'clear'),
    properties: ['name', 'size'],
    missingRows: mode === 'update' ? 'ignore' : one('ignore', 'ignore', 'delete'),
    hasDeleteWhen: false,
    isIncremental: false,
    verify: one('none', 'none', 'all'),
    links: [],
    constants: !isCreate && often(0.3) ? { status: STATUS } : {},
    onConflict,
    firstContact: onConflict === 'ours' ? 'ours' : one('ours', 'theirs'),
    own: isCreate
      ? {}
      : {
          ...(often(0.3) && { name: { onConflict: one(...policies) } }),
          ...(often(0.2) && { size: { write: 'if_empty' as const } }),
          status: { write: 'if_empty' },
        },
    asksByPlan: often(0.2),
  }
}

export const policyOf = (setting: WriterSetting, property: string): PropertyPolicy => ({
  onConflict: setting.onConflict,
  firstContact: setting.firstContact,
  write: 'always',
  ...setting.own[property],
})

/** The sync as its configuration has it. */
export function writerSync(setting: WriterSetting, name: string, csv: string): ImportSync {
  const sync = configured(setting, name, csv)
  const { properties } = sync.import as unknown as { properties: Record<string, object> }
  const own = (property: string) => {
    const { onConflict, firstContact, write } = setting.own[property] ?? {}
    return {
      ...(onConflict && { on_conflict: onConflict }),
      ...(firstContact && { first_contact: firstContact }),
      ...(write && { write }),
    }
  }
  const constants = Object.entries(setting.constants).map(([property, value]) => [
    property,
    { value, ...own(property) },
  ])
  return {
    ...sync,
    import: {
      ...sync.import,
      keep_before: true,
      on_conflict: setting.onConflict,
      first_contact: setting.firstContact,
      ...(setting.asksByPlan && { approve: 'plan' as const }),
      properties: {
        ...Object.fromEntries(
          Object.entries(properties).map(([property, mapping]) => [
            property,
            { ...mapping, ...own(property) },
          ]),
        ),
        ...Object.fromEntries(constants),
      },
    },
  } as unknown as ImportSync
}
