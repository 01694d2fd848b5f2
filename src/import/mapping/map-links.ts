// The links of a row: its cells, as canonical keys of their targets. Promise kept here: a cell that cannot be a key of the target makes
// that link rejected, with place and reason, and nothing else of the row.

import type { ObjectSchema } from '../../contract/index.ts'
import type { Json } from '../../core/json.ts'
import { isBlank, seenText } from '../../core/look.ts'
import { LINK_TARGET_CHARS_MAX, REPORT_VALUE_CHARS_MAX } from '../../core/limits.ts'
import type { ImportConfig, LinkMapping } from '../../../config/index.ts'
import type { StagedItem, StagedLink } from '../../ledger/ledger.ts'
import type { SourceRow } from '../../sources/source.ts'
import { sourceCellText, type Coerced } from './coerce.ts'
import { partsOf } from './cell-parts.ts'
import { compileColumn } from './columns.ts'
import { itemKey } from './key.ts'
import type { Target } from './target.ts'
import type { LinkDefinitions } from './link-target.ts'

/** Characters of a record id. */
const ID_CHARS_MAX = 200

/** What finds the targets of a link. */
export interface TargetKey {
  readonly to: string
  /** Null: the column has record ids. */
  readonly by: string | null
  readonly type: string
  /** Whether the service takes capitals and small letters for the same. */
  readonly folds: boolean
}

export const targetKeyName = ({ to, by }: Pick<LinkMapping, 'to' | 'by'>): string =>
  JSON.stringify([to, by ?? null])

/** How the targets of a link are found. The type is that of the cells, or that of the property. */
export function targetKeyOf(
  { to, by, type }: LinkMapping,
  types: ReadonlyMap<string, ObjectSchema>,
  folds: ReadonlyMap<string, boolean>,
): TargetKey {
  const property = types.get(to)?.properties.find(({ name }) => name === by)
  return {
    to,
    by: by ?? null,
    type: type ?? property?.field_type ?? 'text',
    folds: folds.get(targetKeyName({ to, by })) ?? false,
  }
}

/** What the record of a row is linked to; nothing of a row that does not map, or asks for the deletion of its record. */
export type LinksOfRow = (row: SourceRow, item: StagedItem) => readonly StagedLink[]

/** A cell's part as a key of the target. */
type ReadKey = { readonly key: string } | Extract<Coerced, { readonly ok: false }>

interface LinkColumn {
  readonly link: LinkMapping
  readonly index: number
  read(part: Json): ReadKey
}

/** Compiles the links of an import that was checked. Returns what reads those of a row. */
export function compileLinks(
  config: ImportConfig,
  target: Target & { readonly links: LinkDefinitions },
  sourceColumns: readonly string[],
  folds: ReadonlyMap<string, boolean>,
): LinksOfRow {
  const columns = (config.links ?? []).map((link): LinkColumn => ({
    link,
    index: sourceColumns.indexOf(link.column),
    read: reader(link, target, sourceColumns, folds),
  }))
  return (row, item) => {
    // Of a row that asks for the deletion of its record only the key is read.
    if (!item.valid || item.withdrawn) return []
    const { key } = item
    const links: StagedLink[] = []
    const known = new Set<string>()
    for (const column of columns) addLinks(column, row, key, { links, known })
    return links
  }
}

/** The links of rows with their items, in order. */
export const linksOfRows = (
  { links }: { readonly links: LinksOfRow | null },
  rows: readonly SourceRow[],
  items: readonly StagedItem[],
): readonly StagedLink[] =>
  links === null ? [] : rows.flatMap((row, index) => links(row, items[index]!))

function reader(
  link: LinkMapping,
  target: Target & { readonly links: LinkDefinitions },
  sourceColumns: readonly string[],
  folds: ReadonlyMap<string, boolean>,
): LinkColumn['read'] {
  if (link.by === undefined) return readId
  const { types } = target.links
  const found = types.get(link.to)!.properties.find(({ name }) => name === link.by)!
  const { type, folds: isFolded } = targetKeyOf(link, types, folds)
  const mapping = { column: link.column, ...(link.type !== undefined && { type: link.type }) }
  // One value of it finds the record, whether it holds several or not.
  const property = { ...found, is_multi: false }
  const column = compileColumn(property, mapping, sourceColumns, {
    target,
    empty: 'omit',
    phones: null,
    extract: null,
    map: null,
  })
  return (part) => {
    const coerced = column.coerce(part, null)
    if (!coerced.ok) return coerced
    const key = itemKey(coerced.value, type, isFolded)
    return key === null || key.length > LINK_TARGET_CHARS_MAX
      ? notAKey(`a value of ${found.name} that says which record is meant`)
      : { key }
  }
}

const notAKey = (expected: string): ReadKey => ({ ok: false, reason: 'not_a_key', expected })

function readId(part: Json): ReadKey {
  const id = seenText(sourceCellText(part))
  const isId = id !== '' && id.length <= ID_CHARS_MAX && !/[\p{Cc}\s]/u.test(id)
  return isId ? { key: id } : notAKey(`a record id, at most ${ID_CHARS_MAX} characters`)
}

function addLinks(
  { link, index, read }: LinkColumn,
  row: SourceRow,
  key: string,
  { links, known }: { links: StagedLink[]; known: Set<string> },
): void {
  const cell = row.cells[index] ?? null
  if (cell === null) return
  for (const part of partsOf(cell, link.split)) {
    const text = sourceCellText(part ?? '')
    if (part === null || isBlank(text)) continue
    const found = read(part)
    const isKey = 'key' in found
    const target = isKey ? found.key : cut(text)
    const name = JSON.stringify([link.association, isKey, target])
    if (known.has(name)) continue
    known.add(name)
    const { association, to, by = null, column } = link
    const number = links.length + 1
    const one = { ordinal: row.ordinal, number, association, key, to, by, target, column }
    const reject = isKey ? null : { reason: found.reason, detail: `expected ${found.expected}` }
    links.push({ ...one, reject })
  }
}

const cut = (text: string): string =>
  text.length > REPORT_VALUE_CHARS_MAX ? `${text.slice(0, REPORT_VALUE_CHARS_MAX)}…` : text
