// What a history works with: three object types, five associations, and syncs over them whose settings a seed chooses.

import type { ImportConfig, ImportSync } from '../../../config/index.ts'
import type { dice } from '../random-habits.ts'
import type { AssociationDef, TypeDef } from '../types.ts'

export type Dice = ReturnType<typeof dice>
export type Cardinality = AssociationDef['cardinality']

export const TYPES = ['company', 'contact', 'deal'] as const
export type TypeName = (typeof TYPES)[number]

/** A value that the service refuses, and the mapping does not. */
export const REFUSED = 'REFUSED'
export const CLEARED = 'gone'

export const typeDefs = (): readonly TypeDef[] =>
  TYPES.map((name) => ({
    name,
    properties: [
      { name: 'code', kind: 'text', unique: true },
      { name: 'name', kind: 'text' },
      { name: 'size', kind: 'number' },
      { name: 'status', kind: 'text' },
      { name: 'note', kind: 'text' },
    ],
  }))

export const associationDefs: readonly AssociationDef[] = [
  { name: 'contact_company', source: 'contact', target: 'company', cardinality: 'many_to_one' },
  { name: 'company_contact', source: 'company', target: 'contact', cardinality: 'one_to_one' },
  { name: 'deal_contact', source: 'deal', target: 'contact', cardinality: 'many_to_many' },
  { name: 'deal_company', source: 'deal', target: 'company', cardinality: 'one_to_many' },
  { name: 'contact_deal', source: 'contact', target: 'deal', cardinality: 'many_to_many' },
]

/** Keys of rows of a type: few, so that they come, go and meet. */
export const KEYS: Readonly<Record<TypeName, number>> = { company: 5, contact: 8, deal: 4 }
const LETTER = { company: 'C', contact: 'P', deal: 'D' } as const
export const keyOf = (type: TypeName, n: number): string => `${LETTER[type]}-${n}`

/** How a history runs its steps: waits of a millisecond, segments that may end at once. */
export type Tuning = Readonly<Record<string, unknown>> & { readonly segment_ms: number }

export const tuningOf = ({ one, below }: Dice): Tuning => ({
  resend_backoff_ms: [1],
  item_backoff_ms: [1],
  segment_ms: one(5, 60_000, 60_000),
  in_flight: 1 + below(3),
  rows_per_segment: one(3, 1_000),
  service_probe_ms: 1,
  blocked_probe_ms: 1,
})

export interface LinkSetting {
  readonly association: string
  readonly to: TypeName
  /** Null: the cell holds record ids. */
  readonly by: 'code' | 'name' | null
  readonly column: string
  readonly split: boolean
  readonly missing: 'park' | 'reject' | 'skip'
}

export interface SyncSetting {
  readonly name: string
  readonly type: TypeName
  readonly mode: 'upsert' | 'create' | 'update' | 'link'
  readonly empty: 'omit' | 'clear' | 'reject'
  /** Properties that it writes, besides the key. */
  readonly properties: readonly ('name' | 'size')[]
  /** Values that every row sends. */
  readonly constants?: Readonly<Record<string, string>>
  readonly missingRows: 'ignore' | 'delete' | 'clear'
  readonly hasDeleteWhen: boolean
  readonly isIncremental: boolean
  readonly verify: 'none' | 'all'
  readonly links: readonly LinkSetting[]
}

export const cardinalityOf = (association: string): Cardinality =>
  associationDefs.find(({ name }) => name === association)!.cardinality

/** Columns of the source of a sync; `v` grows with each change of a row. */
export const columnsOf = ({ links }: SyncSetting): readonly string[] => [
  'code',
  'name',
  'size',
  'state',
  ...links.map(({ column }) => column),
  'v',
]

const linkOf = (
  { one, often }: Dice,
  association: string,
  by: readonly ('code' | 'name' | null)[] = ['code'],
): LinkSetting => {
  const { target } = associationDefs.find(({ name }) => name === association)!
  return {
    association,
    to: target as TypeName,
    by: one(...by),
    column: association,
    split: cardinalityOf(association).endsWith('_to_many') || often(0.2),
    missing: one('park', 'park', 'reject', 'skip'),
  }
}

/** The syncs of a history, in the order of their first runs. */
export function syncsOf(chance: Dice): readonly SyncSetting[] {
  const { one, often } = chance
  const verify = one('none', 'none', 'all')
  const base = (name: string, type: TypeName): SyncSetting => {
    const mode = one('upsert', 'upsert', 'upsert', 'create', 'update')
    const isIncremental = often(0.2)
    return {
      name,
      type,
      mode,
      empty: mode === 'create' ? one('omit', 'reject') : one('omit', 'omit', 'clear', 'reject'),
      properties: ['name', 'size'],
      missingRows: isIncremental
        ? 'ignore'
        : mode === 'update'
          ? one('ignore', 'clear')
          : one('ignore', 'delete', 'delete', 'clear'),
      hasDeleteWhen: mode !== 'update' && often(0.3),
      isIncremental,
      verify,
      links: [],
    }
  }
  const companies = base('companies', 'company')
  const contacts = base('contacts', 'contact')
  const deals = base('deals', 'deal')
  const syncs: SyncSetting[] = [
    { ...companies, links: often(0.4) ? [linkOf(chance, 'company_contact')] : [] },
    {
      ...contacts,
      links: often(0.85)
        ? [linkOf(chance, 'contact_company', ['code', 'code', 'code', 'name', null])]
        : [],
    },
    {
      ...deals,
      links: [
        ...(often(0.8) ? [linkOf(chance, 'deal_contact', ['code', 'code', null])] : []),
        ...(often(0.5) ? [linkOf(chance, 'deal_company')] : []),
      ],
    },
  ]
  if (often(0.4))
    syncs.push({
      ...base('joins', 'contact'),
      mode: 'link',
      empty: 'reject',
      properties: [],
      missingRows: 'ignore',
      hasDeleteWhen: false,
      verify: 'none',
      links: [linkOf(chance, 'contact_deal')],
    })
  // Another sync over the same records, with a property of its own.
  if (often(0.3)) {
    syncs[1] = { ...syncs[1]!, properties: ['name'] }
    syncs.push({
      ...base('sizes', 'contact'),
      mode: 'update',
      missingRows: 'ignore',
      hasDeleteWhen: false,
      properties: ['size'],
    })
  }
  return often(0.5) ? syncs : syncs.toReversed()
}

/** The sync as its configuration has it. */
export function configured(sync: SyncSetting, name: string, csv: string): ImportSync {
  const { mode, empty, links, missingRows, hasDeleteWhen, isIncremental, verify } = sync
  const from = isIncremental
    ? {
        query: 'SELECT * FROM rows WHERE v > :watermark',
        warehouse: 'none',
        watermark: { column: 'v', initial: '0' },
      }
    : { csv }
  const properties = Object.fromEntries(
    ['code', ...sync.properties].map((property) => [
      property,
      { column: property, ...(property === 'size' && { type: 'number' }) },
    ]),
  )
  return {
    name,
    kind: 'import',
    import: {
      from,
      to: 'crm',
      object_type: sync.type,
      matching_property: 'code',
      mode,
      empty,
      verify,
      properties,
      ...(links.length > 0 && {
        links: links.map(({ association, to, by, column, split, missing }) => ({
          association,
          to,
          ...(by !== null && { by }),
          column,
          ...(split && { split: ';' }),
          missing,
        })),
      }),
      ...(missingRows !== 'ignore' && {
        missing_rows: missingRows === 'clear' ? { clear: { status: CLEARED } } : missingRows,
        missing_rows_max_percent: 100,
      }),
      ...(hasDeleteWhen && { delete_when: { column: 'state', equals: ['deleted'] } }),
    } as unknown as ImportConfig,
  }
}
