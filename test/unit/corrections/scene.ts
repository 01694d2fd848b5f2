// A run that left rows over, in a real ledger, and the files that are written of it.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { SourceError } from '../../../src/core/errors.ts'
import type { Json } from '../../../src/core/json.ts'
import type { PropertyMapping } from '../../../config/index.ts'
import {
  BYTE_ORDER_MARK,
  readCorrections,
  createRejectsSheet,
  type SpreadsheetRow,
  type CorrectionsAccount,
} from '../../../src/corrections/index.ts'
import type { ReportedItem, RunSchema } from '../../../src/ledger/ledger.ts'

export const importOf = (properties: Readonly<Record<string, PropertyMapping>>) => ({
  name: 'contacts',
  kind: 'import',
  import: {
    from: { csv: '/contacts.csv' },
    to: 'crm',
    object_type: 'svc_contact',
    matching_property: 'svc_id',
    mode: 'upsert',
    empty: 'omit',
    verify: 'none',
    properties,
  },
})

/** A row that a run left over. */
export interface Left {
  readonly raw: readonly Json[]
  /** The column in error. */
  readonly column?: string
}

const run = 7

/** The file that is written of rows with these columns; ordinals are 1, 2, … */
export function written(
  columns: readonly string[],
  rows: readonly Left[],
  { exact = false, schema = null }: { exact?: boolean; schema?: RunSchema | null } = {},
): string {
  const config = importOf({}) as unknown as Json
  const opened = { id: run, kind: 'import', purpose: 'sync', of: null, config } as const
  const sheet = createRejectsSheet({ ...opened, schema, sourceColumns: columns }, exact)
  const lines = rows.map(({ raw, column = null }, index) => {
    const item: ReportedItem = {
      ordinal: index + 1,
      line: index + 2,
      of: null,
      attempt: null,
      key: null,
      state: 'invalid',
      raw,
      httpStatus: null,
      recordId: null,
      code: null,
      reason: 'not_a_date',
      column,
      field: null,
      value: null,
      detail: 'expected a day of the calendar',
      more: [],
      requestId: null,
      inDoubt: false,
    }
    return sheet.line(item)
  })
  return BYTE_ORDER_MARK + sheet.header + lines.join('')
}

/** What files of corrections of rows with these columns give. */
export async function read(
  files: readonly string[],
  columns: readonly string[],
  rows: readonly Left[],
): Promise<{ rows: readonly SpreadsheetRow[]; account: CorrectionsAccount; pages: number[] }> {
  const corrections = readCorrections(files, {
    run,
    columns,
    rawOf: async (ordinals) =>
      new Map(
        ordinals.flatMap((ordinal) => {
          const row = rows[ordinal - 1]
          return row ? [[ordinal, row.raw] as const] : []
        }),
      ),
  })
  const found: SpreadsheetRow[] = []
  const pages: number[] = []
  for await (const page of corrections.pages()) {
    found.push(...page)
    pages.push(page.length)
  }
  return { rows: found, account: corrections.account(), pages }
}

/** The message of the SourceError that reading ends with, without the folder. */
export async function complaint(
  files: readonly string[],
  columns: readonly string[],
  rows: readonly Left[],
): Promise<string> {
  const error = await read(files, columns, rows).then(
    () => new Error('no error'),
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof SourceError)) throw error
  return error.message.replaceAll(/\S*\/(?=[^/\s]+:\d)/g, '').replaceAll(/\S*\/(?=[^/\s]+:\s)/g, '')
}

/** Folder for the files of a test file. */
export function folder(): (name: string, content: string | Uint8Array) => Promise<string> {
  let root = ''
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'records-sync-corrections-'))
  })
  afterAll(() => rm(root, { recursive: true }))
  return async (name, content) => {
    await writeFile(join(root, name), content)
    return join(root, name)
  }
}

export const fixture = (name: string): string =>
  new URL(`./spreadsheets/${name}`, import.meta.url).pathname
export const readFixture = (name: string): Promise<string> => readFile(fixture(name), 'utf8')
