// A reconciliation calls no record extra whose key the source still has, or may have: not where its row is invalid, left the filter, or has
// no key that can be read. Then nothing advises a deletion, and none is made.

import { expect, it } from 'vitest'
import type { ImportConfig } from '../../../config/index.ts'
import { onSampledLedgers } from './each-ledger.ts'
import { importScene, type Scene } from './scene.ts'

const COLUMNS = ['id', 'first', 'flag']
const MAPPING = {
  svc_external_id: { column: 'id' },
  svc_first_name: { column: 'first' },
  svc_subscribed: { column: 'flag' },
}

type Row = readonly string[]
const BAD = 'maybe'
const A: Row = ['A', 'a', 'true']
const K: Row = ['K', 'k', 'true']

interface Case {
  readonly name: string
  readonly config?: Partial<ImportConfig>
  /** The rows once K was written. */
  readonly rows: readonly Row[]
  readonly isExtra: boolean
  /** The run names the record's absence, and why it counts for nothing. */
  readonly isSaid?: true
}

const CASES: readonly Case[] = [
  { name: 'whose row is gone', rows: [A], isExtra: true },
  { name: 'whose row is invalid', rows: [A, ['K', 'k', BAD]], isExtra: false },
  {
    name: 'whose row is invalid, in other capitals',
    rows: [A, ['k', 'k', BAD]],
    isExtra: false,
    isSaid: true,
  },
  {
    name: 'whose row is invalid, with space around its key',
    rows: [A, [' K ', 'k', BAD]],
    isExtra: false,
  },
  {
    name: 'whose row has lost its key',
    rows: [A, ['', 'k', 'true']],
    isExtra: false,
    isSaid: true,
  },
  {
    name: 'whose row has lost its key, and is wrong',
    rows: [A, ['', 'k', BAD]],
    isExtra: false,
    isSaid: true,
  },
  {
    name: 'whose row has a cell too many',
    rows: [A, ['K', 'k', 'true', 'x']],
    isExtra: false,
    isSaid: true,
  },
  { name: 'whose row is there twice, once invalid', rows: [A, K, ['K', 'k', BAD]], isExtra: false },
  {
    name: 'whose row is gone, while another one is invalid',
    rows: [['A', 'a', BAD]],
    isExtra: true,
  },
]

const warningsOf = async (s: Scene, run: number) => (await s.ledger.run(run))!.warnings.join('\n')

onSampledLedgers('a record', () => {
  it.each(CASES)('$name', async ({ config = {}, rows, isExtra, isSaid = false }) => {
    const s = await importScene(MAPPING, { verify: 'all', ...config })
    s.rows(COLUMNS, [[...A], [...K]])
    await s.run()
    s.rows(
      COLUMNS,
      rows.map((row) => [...row]),
    )
    const looked = await s.reconcile()
    const extra = looked.differences.filter(({ kind }) => kind === 'extra')
    expect(extra.map(({ key }) => key)).toEqual(isExtra ? ['K'] : [])
    const said = await warningsOf(s, looked.run)
    expect(said.includes('still_in_source')).toBe(isSaid)
    await s.reconcile({ repair: true, deleteExtra: true }, { approves: true })
    expect((await s.held('K')) === null).toBe(isExtra)
    expect(await s.held('A')).not.toBeNull()
  })
})
