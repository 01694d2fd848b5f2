// A row that a run left over is older than a later whole reading without it, and than a removal of its record: no retry brings it back.
// Whatever is written all the same is found by the next whole reading that lacks its row.

import { describe, expect, it } from 'vitest'
import type { ImportConfig } from '../../../config/index.ts'
import { onSampledLedgers } from './each-ledger.ts'
import {
  CONTACT,
  importScene,
  losesFirst,
  type RunEnd,
  type RunOptions,
  type Scene,
} from './scene.ts'
import { rounds } from '../../runs.ts'

const COLUMNS = ['id', 'first', 'flag']
const LOOSE = { svc_external_id: { column: 'id' }, svc_first_name: { column: 'first' } }
const STRICT = { ...LOOSE, svc_subscribed: { column: 'flag' } }
/** A row with this flag is invalid under the strict mapping. */
const BAD = 'maybe'

type Row = readonly [id: string, first: string, flag?: string]

const DELETE = { missing_rows: 'delete', missing_rows_max_percent: 100 } as const
const CLEAR = {
  missing_rows: { clear: { svc_first_name: 'cleared' } },
  missing_rows_max_percent: 100,
}
const ASKED = { delete_when: { column: 'first', equals: ['gone'] } }

class Play {
  readonly scene: Scene

  constructor(scene: Scene) {
    this.scene = scene
  }

  static of = async (config: object): Promise<Play> =>
    new Play(
      await importScene(LOOSE, {
        verify: 'all',
        keep_before: true,
        ...config,
      } as Partial<ImportConfig>),
    )

  file(...rows: Row[]): void {
    this.scene.rows(
      COLUMNS,
      rows.map(([id, first, flag = '']) => [id, first, flag]),
    )
  }

  run = (options: RunOptions = {}) => this.scene.run({ approves: true, ...options })
  /** Under the mapping that refuses bad rows. */
  strict = (options: RunOptions = {}) =>
    this.run({ as: { name: 'contacts', import: { properties: STRICT } }, ...options })
  /** A run of these rows, under that mapping. */
  async read(...rows: Row[]): Promise<RunEnd> {
    this.file(...rows)
    return await this.strict()
  }
  retry = (of: RunEnd, options: RunOptions = {}) => this.scene.retry(of.run, {}, options)
  async correct(of: RunEnd, ...rows: Row[]): Promise<RunEnd> {
    const { ledger } = this.scene
    const left = rows.map(([id, first, flag = ''], index) => ({
      ordinal: index + 1,
      raw: [id, first, flag],
    }))
    const correction = await ledger.addCorrections(of.run, null, left)
    return await this.scene.retry(of.run, { correction })
  }
  async held(key: string): Promise<string | null> {
    const record = await this.scene.held(key)
    return record === null ? null : String(record.properties['svc_first_name'])
  }
}

const A: Row = ['A', 'a']
const OLD: Row = ['K', 'old', BAD]

interface Case {
  readonly name: string
  readonly config?: object
  /** Gives the retry. */
  readonly play: (t: Play) => Promise<RunEnd>
  /** The row is left out by the retry. */
  readonly isLeftOut: boolean
  /** What the record of K has then; null: there is none. */
  readonly held: string | null
  /** What it has after one more whole reading of the file as it is; left out: the same. */
  readonly after?: string | null
}

const CASES: readonly Case[] = [
  {
    name: 'that the next reading lacks',
    play: async (t) => {
      const old = await t.read(OLD, A)
      await t.read(A)
      return await t.retry(old)
    },
    isLeftOut: true,
    held: null,
  },
  {
    name: 'that the next reading lacks, to be cleared',
    config: CLEAR,
    play: async (t) => {
      const old = await t.read(OLD, A)
      await t.read(A)
      return await t.retry(old)
    },
    isLeftOut: true,
    held: null,
  },
  {
    name: 'whose record was deleted since',
    play: async (t) => {
      await t.read(['K', 'first'], A)
      const old = await t.read(OLD, A)
      await t.read(A)
      return await t.retry(old)
    },
    isLeftOut: true,
    held: null,
  },
  {
    name: 'whose record was cleared since',
    config: CLEAR,
    play: async (t) => {
      await t.read(['K', 'first'], A)
      const old = await t.read(OLD, A)
      await t.read(A)
      return await t.retry(old)
    },
    isLeftOut: true,
    held: 'cleared',
  },
  {
    name: 'that was corrected after a reading without it',
    play: async (t) => {
      const old = await t.read(OLD, A)
      await t.read(A)
      return await t.correct(old, ['K', 'corrected'])
    },
    isLeftOut: true,
    held: null,
  },
  {
    name: 'that was corrected after its record was cleared',
    config: CLEAR,
    play: async (t) => {
      await t.read(['K', 'first'], A)
      const old = await t.read(OLD, A)
      await t.read(A)
      return await t.correct(old, ['K', 'corrected'])
    },
    isLeftOut: true,
    held: 'cleared',
  },
  {
    name: 'of a wrong key that the source still has, corrected to another one',
    play: async (t) => {
      const old = await t.read(['Q', 'old', BAD], A)
      await t.read(['Q', 'old', BAD], A)
      return await t.correct(old, ['K', 'corrected'])
    },
    isLeftOut: false,
    held: 'corrected',
  },
  {
    name: 'of a wrong key that the source lacks, corrected to another one',
    play: async (t) => {
      const old = await t.read(['Q', 'old', BAD], A)
      await t.read(A)
      return await t.correct(old, ['K', 'corrected'])
    },
    isLeftOut: true,
    held: null,
  },
  {
    name: 'corrected to another key, whose row goes later',
    play: async (t) => {
      const old = await t.read(['Q', 'old', BAD], A)
      const end = await t.correct(old, ['K', 'corrected'])
      await t.read(['Q', 'old', BAD], A)
      expect(await t.held('K')).toBe('corrected')
      t.file(A)
      return end
    },
    isLeftOut: false,
    held: 'corrected',
    after: null,
  },
  {
    name: 'whose record a later row asked to delete',
    config: ASKED,
    play: async (t) => {
      await t.read(['K', 'first'], A)
      const old = await t.read(OLD, A)
      await t.read(['K', 'gone'], A)
      return await t.retry(old)
    },
    isLeftOut: true,
    held: null,
  },
  {
    name: 'that was corrected after a later row asked for the deletion',
    config: ASKED,
    play: async (t) => {
      const old = await t.read(OLD, A)
      await t.read(['K', 'gone'], A)
      return await t.correct(old, ['K', 'corrected'])
    },
    isLeftOut: true,
    held: null,
  },
  {
    name: 'before a row of the same reading that asked for the deletion',
    config: ASKED,
    play: async (t) => {
      const old = await t.read(OLD, ['K', 'gone'], A)
      return await t.retry(old)
    },
    isLeftOut: true,
    held: null,
  },
  {
    name: 'behind a row of the same reading that asked for the deletion',
    config: ASKED,
    play: async (t) => {
      const old = await t.read(['K', 'gone'], OLD, A)
      return await t.retry(old)
    },
    isLeftOut: false,
    held: 'old',
  },
  {
    name: 'that one reading lacked and the next one had again',
    play: async (t) => {
      const old = await t.read(OLD, A)
      await t.read(A)
      await t.read(['K', 'newer', BAD], A)
      return await t.retry(old)
    },
    isLeftOut: true,
    held: null,
    after: 'newer',
  },
  {
    name: 'that came again, of the reading that had it again',
    play: async (t) => {
      await t.read(OLD, A)
      await t.read(A)
      const newer = await t.read(['K', 'newer', BAD], A)
      const end = await t.retry(newer)
      t.file(A)
      return end
    },
    isLeftOut: false,
    held: 'newer',
    after: null,
  },
  {
    name: 'where nothing is removed: each file has what is new',
    config: { missing_rows: 'ignore' },
    play: async (t) => {
      const old = await t.read(OLD, A)
      await t.read(A)
      return await t.retry(old)
    },
    isLeftOut: false,
    held: 'old',
  },
  {
    name: 'written by a retry while nothing is removed',
    config: { missing_rows: 'ignore' },
    play: async (t) => {
      const old = await t.read(OLD, A)
      await t.read(A)
      const end = await t.retry(old)
      await t.run({ as: { name: 'contacts', import: DELETE as Partial<ImportConfig> } })
      expect(await t.held('K')).toBeNull()
      return end
    },
    isLeftOut: false,
    held: null,
  },
  {
    name: 'that a reading lacked which did not end',
    play: async (t) => {
      const old = await t.read(OLD, A)
      t.file(A)
      await t.strict({ ending: 'cancelled' })
      return await t.retry(old)
    },
    isLeftOut: false,
    held: 'old',
    after: null,
  },
  {
    name: 'that a reading lacked with a row without a key',
    play: async (t) => {
      const old = await t.read(OLD, A)
      await t.read(A, ['', 'keyless'])
      const end = await t.retry(old)
      t.file(A)
      return end
    },
    isLeftOut: false,
    held: 'old',
    after: null,
  },
  {
    name: 'before a reading without it',
    play: async (t) => {
      const old = await t.read(OLD, A)
      const end = await t.retry(old)
      t.file(A)
      return end
    },
    isLeftOut: false,
    held: 'old',
    after: null,
  },
  {
    name: 'whose record a reconciliation has deleted as extra',
    config: { missing_rows: 'ignore' },
    play: async (t) => {
      await t.read(['K', 'first'], A)
      const old = await t.read(OLD, A)
      t.file(A)
      await t.scene.reconcile({ repair: true, deleteExtra: true }, { approves: true })
      expect(await t.held('K')).toBeNull()
      return await t.retry(old)
    },
    isLeftOut: true,
    held: null,
  },
  {
    name: 'that a reconciliation of all lacks',
    play: async (t) => {
      const old = await t.read(OLD, A)
      t.file(A)
      await t.scene.reconcile()
      return await t.retry(old)
    },
    isLeftOut: true,
    held: null,
  },
  {
    name: 'that a reconciliation of a sample lacks',
    play: async (t) => {
      const old = await t.read(OLD, A)
      t.file(A)
      await t.scene.reconcile({ sample: 1 })
      return await t.retry(old)
    },
    isLeftOut: false,
    held: 'old',
    after: null,
  },
  {
    name: 'of a retry that left it over again',
    play: async (t) => {
      const old = await t.read(OLD, A)
      const again = await t.retry(old, { as: { name: 'contacts', import: { properties: STRICT } } })
      expect(again.books.states.invalid).toBe(1)
      await t.read(A)
      return await t.retry(again)
    },
    isLeftOut: true,
    held: null,
  },
  {
    name: 'whose answer was lost',
    play: async (t) => {
      t.file(['K', 'old'], A)
      const lost = losesFirst('batchUpsert', false, { times: 9 })
      const old = await t.run({ through: lost, ending: 'cancelled' })
      await t.read(A)
      return await t.retry(old)
    },
    isLeftOut: true,
    held: null,
  },
  {
    name: 'that a reconciliation left unsent',
    play: async (t) => {
      await t.read(['K', 'first'], A)
      t.file(['K', 'other'], A)
      const looked = await t.scene.reconcile()
      await t.read(A)
      return await t.retry(looked)
    },
    isLeftOut: true,
    held: null,
  },
  {
    name: 'whose record went before its run was undone',
    play: async (t) => {
      const old = await t.read(OLD, ['B', 'b'], A)
      await t.scene.undo(old.run, {}, { approves: true })
      await t.read(A)
      return await t.retry(old)
    },
    isLeftOut: true,
    held: null,
  },
]

onSampledLedgers('a row that was left over', () => {
  it.each(CASES)('$name', async ({ config = DELETE, play, isLeftOut, held, after = held }) => {
    const t = await Play.of(config)
    const end = await play(t)
    expect(await t.held('K')).toBe(held)
    const { warnings } = (await t.scene.ledger.run(end.run))!
    expect(warnings.some((text) => text.includes('a later reading of the source lacks'))).toBe(
      isLeftOut,
    )
    const page = { states: ['superseded'], after: 0, limit: 9 } as const
    const out = await t.scene.ledger.report(end.run, page)
    expect(out.map(({ reason }) => reason)).toEqual(isLeftOut ? ['gone_from_source'] : [])
    // It is not left any more.
    if (isLeftOut) expect(await t.retry(end)).toMatchObject({ books: { read: 0 } })
    await t.run()
    expect(await t.held('K')).toBe(after)
  })
})

type Writing = readonly [name: string, write: (t: Play) => Promise<unknown>]

/** The source has K when it is written, and lacks it in the next complete reading. */
const WRITINGS: readonly Writing[] = [
  ['a backfill', (t) => t.run({ limits: { window: null, only: null } })],
  ['a repair', (t) => t.scene.reconcile({ repair: true })],
  ['a run that was cancelled', (t) => t.run({ ending: 'cancelled' })],
  [
    'the retry of a reconciliation',
    async (t) => {
      const found = await t.scene.reconcile()
      await t.scene.retry(found.run)
    },
  ],
  [
    'the retry of a run that was cancelled',
    async (t) => {
      const lost = losesFirst('batchUpsert', false, { times: 9 })
      const cut = await t.run({ through: lost, ending: 'cancelled' })
      await t.retry(cut)
    },
  ],
  [
    'the undo of the run that deleted it',
    async (t) => {
      await t.run()
      t.file(A)
      const end = await t.run()
      expect(await t.held('K')).toBeNull()
      await t.scene.undo(end.run, {}, { approves: true })
    },
  ],
  [
    'the undo of an undo',
    async (t) => {
      const made = await t.run({ ending: 'cancelled' })
      const undone = await t.scene.undo(made.run, {}, { approves: true })
      expect(await t.held('K')).toBeNull()
      await t.scene.undo(undone.run, {}, { approves: true })
    },
  ],
]

onSampledLedgers('a record that was written between two whole readings', () => {
  describe.each([
    ['delete', DELETE, null],
    ['clear', CLEAR, 'cleared'],
  ] as const)('with missing_rows: %s', (_, config, expected) => {
    it.each(
      WRITINGS.filter(([name]) => expected === null || !name.startsWith('the undo of the run')),
    )('by %s is found when its row is gone', async (_name, write) => {
      const t = await Play.of(config)
      await t.read(A)
      t.file(['K', 'new'], A)
      await write(t)
      expect(await t.held('K')).toBe('new')
      t.file(A)
      const end = await t.run()
      expect(await t.held('K')).toBe(expected)
      expect(await t.held('A')).toBe('a')
      const { deleted: removed = 0, cleared = 0 } = end.books.removals ?? {}
      expect(removed + cleared).toBe(1)
      expect((await t.run()).books.removals ?? {}).toEqual({})
    })
  })

  it('stays where others have changed it', async () => {
    const t = await Play.of(DELETE)
    await t.read(A)
    t.file(['K', 'new'], A)
    await t.run({ limits: { window: null, only: null } })
    await t.scene.client.updateRecord(CONTACT, (await t.scene.held('K'))!.id, {
      svc_first_name: 'theirs',
    })
    t.file(A)
    const end = await t.run()
    expect(end.books.removals).toEqual({ changed_since: 1 })
    expect(await t.held('K')).toBe('theirs')
  })
})

function numbersOf(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 11
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 4_294_967_296) * below)
  }
}

onSampledLedgers('whatever runs, retries, corrections, repairs and undos do', () => {
  it.each(Array.from({ length: rounds(3, 12) }, (_, seed) => ({ seed, clears: seed % 3 === 2 })))(
    'no record of ours outlives its row: $seed (clears $clears)',
    async ({ seed, clears }) => {
      const next = numbersOf(seed)
      const t = await Play.of(clears ? CLEAR : DELETE)
      const keys = ['K0', 'K1', 'K2', 'K3']
      const runs: RunEnd[] = []
      let rows: Row[] = []
      for (let move = 0; move < 10; move++) {
        rows = keys.flatMap((key): Row[] =>
          next(3) === 0 ? [] : [[key, `${key} ${move}`, next(3) === 0 ? BAD : '']],
        )
        t.file(A, ...rows)
        const kind = next(7)
        const any = runs.length === 0 ? null : runs[next(runs.length)]!
        if (kind === 0) await t.scene.reconcile({ repair: true }, { approves: true })
        else if (kind === 1) await t.strict({ limits: { window: null, only: null } })
        else if (kind === 2) await t.strict({ ending: 'cancelled' })
        else if (kind <= 4 && any !== null) {
          const before = new Map<string, string | null>()
          const lacked = runs.filter(({ run }) => run > any.run)
          for (const key of keys) before.set(key, await t.held(key))
          await (kind === 3 ? t.retry(any) : t.scene.retry(any.run))
          // A key that a later whole reading lacks is left as it is.
          for (const key of keys) {
            const isGone = await anyLacks(t, lacked, key)
            if (isGone) expect([move, key, await t.held(key)]).toEqual([move, key, before.get(key)])
          }
        }
        runs.push(await t.strict())
        const there = new Set(rows.map(([key]) => key))
        for (const key of keys)
          if (!there.has(key))
            expect([move, key, (await t.held(key)) ?? 'cleared']).toEqual([move, key, 'cleared'])
      }
    },
  )
})

async function anyLacks(t: Play, runs: readonly RunEnd[], key: string): Promise<boolean> {
  for (const { run } of runs)
    if (!(await t.scene.ledger.stagedKeys(run, [key], { upTo: 100 })).has(key)) return true
  return false
}
