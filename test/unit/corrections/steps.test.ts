// A file of corrections is read in steps: others get their turn between them, and no file is read further than it can be what it should be.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readCorrections } from '../../../src/corrections/index.ts'
import type { SpreadsheetFile } from '../../../src/corrections/spreadsheet-table.ts'

const MIB = 1_048_576
const COLUMNS = ['id', 'mail', 'note, with commas, and more']
const HEAD = '_row,_column,id,mail\n'

let folder: string
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'records-sync-steps-'))))
afterAll(() => rm(folder, { recursive: true, force: true }))

/** How often others had their turn, and what came of it. */
async function read(file: SpreadsheetFile) {
  let turns = 0
  let next = setImmediate(function count() {
    turns++
    next = setImmediate(count)
  })
  const corrections = readCorrections([file], {
    run: 2,
    columns: COLUMNS,
    rawOf: async (ordinals) => new Map(ordinals.map((ordinal) => [ordinal, ['1', 'a', 'b']])),
  })
  try {
    let rows = 0
    for await (const page of corrections.pages()) rows += page.length
    return { turns, said: `${rows} rows` }
  } catch (error) {
    return { turns, said: (error as Error).message }
  } finally {
    clearImmediate(next)
  }
}

/** The command reads the same of a file, with the same limits. */
async function both(name: string, content: string) {
  const bytes = Buffer.from(content)
  const path = join(folder, `${name.replaceAll(/\W/g, '-')}.csv`)
  await writeFile(path, bytes)
  const sent = await read({ name: path, bytes })
  expect((await read(path)).said).toBe(sent.said)
  return { ...sent, pieces: bytes.length / 65_536 }
}

describe('of a file that is read to its end', () => {
  it.each([
    ['empty lines', HEAD + '\n'.repeat(6 * MIB), '0 rows'],
    [
      'empty lines after a quoted cell',
      `${HEAD}"run 2 row 1",,,"a ""b"" c"\n${'\n'.repeat(6 * MIB)}`,
      '1 rows',
    ],
    [
      'rows',
      HEAD + Array.from({ length: 100_000 }, (_, at) => `run 2 row ${at + 1},,1,x`).join('\n'),
      '100000 rows',
    ],
    [
      'rows with line breaks',
      HEAD +
        Array.from({ length: 60_000 }, (_, at) => `run 2 row ${at + 1},,1,"x\n\ny"`).join('\n'),
      '60000 rows',
    ],
    [
      'rows of a long cell',
      HEAD +
        Array.from({ length: 6 }, (_, at) => `run 2 row ${at + 1},,1,${'x'.repeat(MIB / 2)}`).join(
          '\n',
        ),
      '6 rows',
    ],
  ])('%s, others have a turn for each piece', async (name, content, said) => {
    const found = await both(name, content)
    expect(found.said).toBe(said)
    expect(found.turns).toBeGreaterThanOrEqual(Math.floor(found.pieces) - 1)
  })
})

describe('reads no further', () => {
  const wide = (columns: number, mark: string) =>
    `${Array.from({ length: columns }, (_, at) => `c${at}`).join(mark)}\nx\n`
  it.each([
    ['a header of 100,000 columns', wide(100_000, ','), /more than 1012 columns/],
    ['a header of 1,800,000 columns', wide(1_800_000, ','), /more than 1012 columns/],
    ['a header of 100,000 columns with semicolons', wide(100_000, ';'), /more than 1012 columns/],
    ['a header of 100,000 columns with tabs', wide(100_000, '\t'), /more than 1012 columns/],
    ['a header of quoted columns', `${'"a",'.repeat(100_000)}\n`, /more than 1012 columns/],
    [
      'the columns and 1,100 more',
      `_row,_column,${'x,'.repeat(1_100)}\n`,
      /more than 1012 columns/,
    ],
    ['blank rows', HEAD + ',,,\n'.repeat(2 * MIB), /:11001:1: more than 10000 rows are blank/],
    ['blank rows with spaces', HEAD + ' ,\t, ,\n'.repeat(MIB), /more than 10000 rows are blank/],
    ['a row without a reference', HEAD + 'a,,,\n'.repeat(2 * MIB), /:2:1: _row says no row/],
    ['rows of another run', HEAD + 'run 3 row 1,,,\n'.repeat(MIB), /:2:1: the row is of run 3/],
    [
      'a row with more cells than columns',
      HEAD + ','.repeat(50_000) + '\n'.repeat(3 * MIB),
      /expected 4, as in the header/,
    ],
    [
      'text after a quote',
      `${HEAD}"x"y,,,\n${'\n'.repeat(5 * MIB)}`,
      /text after the closing quote/,
    ],
  ])('than %s', async (name, content, said) => {
    const found = await both(name, content)
    expect(found.said).toMatch(said)
    expect(found.turns).toBeLessThan(40)
  })

  it.each([
    [
      'the columns in another order, with 900 more',
      `id,_column,_row,${Array.from({ length: 900 }, (_, at) => `x${at}`).join(',')}\n5,,run 2 row 1\n`,
    ],
    ['9,000 blank rows behind', `${HEAD}run 2 row 1,,5,\n${',,,\n'.repeat(9_000)}`],
    ['names with commas in them', `_row;_column;id;"${COLUMNS[2]}"\nrun 2 row 1;;5;x\n`],
  ])('but takes %s', async (name, content) => {
    expect((await both(name, content)).said).toBe('1 rows')
  })
})
