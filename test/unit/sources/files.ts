// Files for the tests of sources: a folder of their own, removed afterwards, and readers of what is in them.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { SourceError } from '../../../src/core/errors.ts'
import { openCsv, type CsvOptions } from '../../../src/sources/csv/index.ts'
import type { SourceRow, SourceSummary } from '../../../src/sources/source.ts'

export interface Folder {
  path: (name: string) => string
  /** Writes a file and returns its path. */
  put: (content: string | Uint8Array, name?: string) => Promise<string>
}

/** A temporary folder for the tests of one file. */
export function folder(): Folder {
  let root = ''
  let files = 0
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'records-sync-sources-'))
  })
  afterAll(() => rm(root, { recursive: true, force: true }))
  const path = (name: string): string => join(root, name)
  return {
    path,
    put: async (content, name = `${(files += 1)}.csv`) => {
      await writeFile(path(name), content)
      return path(name)
    },
  }
}

export interface Reading {
  columns: readonly string[]
  rows: SourceRow[]
  chunks: number[]
  summary: SourceSummary
}

/** Reads a CSV file to its end. */
export async function readCsv(options: CsvOptions, rowsMax = 1_000): Promise<Reading> {
  const source = await openCsv(options)
  try {
    const rows: SourceRow[] = []
    const chunks: number[] = []
    for await (const chunk of source.chunks(rowsMax)) {
      chunks.push(chunk.length)
      rows.push(...chunk)
    }
    return { columns: source.columns, rows, chunks, summary: source.summary() }
  } finally {
    await source.close()
  }
}

/** The SourceError that a reading ends with. */
export async function faultOf(options: CsvOptions): Promise<SourceError> {
  const outcome = await readCsv(options).then(
    () => 'no error',
    (error: unknown) => error,
  )
  if (outcome instanceof SourceError) return outcome
  throw new Error(`expected a SourceError, got ${String(outcome)}`)
}
