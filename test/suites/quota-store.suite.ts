// The contract of a quota store: every driver passes these tests. A driver's own test file calls `quotaStoreSuite` once.

import { forEachConcurrent } from '../../src/core/concurrency.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SyncError } from '../../src/core/errors.ts'
import type { QuotaStore } from '../../src/core/ports.ts'

/** A store of its own for one test. */
export interface OpenedQuotaStore {
  readonly store: QuotaStore
  /** Another handle on the same place, as another process has it; the first stays usable. */
  reopen(): Promise<QuotaStore>
  /** Closes every handle and removes the place. */
  cleanup(): Promise<void>
}

const org = 'https://api.example.com org 42'

/** Counts one more. */
const increment = (store: QuotaStore, name = org): Promise<number> =>
  store.update(name, (state) => {
    const result = Number(state ?? '0') + 1
    return { state: String(result), result }
  })

const put = (store: QuotaStore, name: string, state: string): Promise<void> =>
  store.update(name, () => ({ state, result: undefined }))

const read = (store: QuotaStore, name = org): Promise<string | null> =>
  store.update(name, (state) => ({ state: state ?? 'made by reading', result: state }))

/** The tests of a driver; `open` gives each of them a new, empty store. */
export function quotaStoreSuite(name: string, open: () => Promise<OpenedQuotaStore>): void {
  describe(`the ${name} quota store`, () => {
    let opened: OpenedQuotaStore
    let store: QuotaStore
    beforeEach(async () => {
      opened = await open()
      store = opened.store
    })
    afterEach(() => opened.cleanup())

    it('gives null for an org without a state, and then what was kept', async () => {
      const given: (string | null)[] = []
      for (const next of ['one', 'two', '']) {
        await store.update(org, (state) => {
          given.push(state)
          return { state: next, result: null }
        })
      }
      expect(given).toEqual([null, 'one', 'two'])
      expect(await read(store)).toBe('')
    })

    it('gives the result of the work, of any type', async () => {
      const result = { permits: [{ id: 'a' }], at: 5 }
      expect(await store.update(org, () => ({ state: 's', result }))).toBe(result)
      expect(await store.update(org, () => ({ state: 's', result: undefined }))).toBeUndefined()
    })

    it('keeps the state over closing and opening', async () => {
      await put(store, org, 'kept')
      await store.noteOrgOfKey('key', org)
      await store.close()
      const again = await opened.reopen()
      expect(await read(again)).toBe('kept')
      expect(await again.orgOfKey('key')).toBe(org)
    })

    it('shows another handle what was kept, at once', async () => {
      const other = await opened.reopen()
      for (let count = 1; count <= 20; count++)
        expect(await increment(count % 2 === 0 ? store : other)).toBe(count)
    })

    it('changes nothing where the work throws, and says what it threw', async () => {
      await put(store, org, 'before')
      const mistake = new Error('a mistake in the work')
      const failing = (name: string) =>
        store.update(name, () => {
          throw mistake
        })
      await expect(failing(org)).rejects.toBe(mistake)
      await expect(failing('another org')).rejects.toBe(mistake)
      expect((await store.all()).orgs).toEqual([{ org, state: 'before' }])
      // And it is free for the next.
      const other = await opened.reopen()
      await put(other, org, 'after')
      expect(await read(store)).toBe('after')
    })

    it('never loses an update: 1,000 over two handles, 40 at a time', async () => {
      const other = await opened.reopen()
      const counted: number[] = []
      await forEachConcurrent(
        Array.from({ length: 1_000 }, (_, index) => index),
        40,
        async (index) => {
          counted.push(await increment(index % 2 === 0 ? store : other))
        },
      )
      expect(counted.toSorted((a, b) => a - b)).toEqual(
        Array.from({ length: 1_000 }, (_, index) => index + 1),
      )
      expect(await read(store)).toBe('1000')
    })

    it('never loses the first update of an org, whoever makes it', async () => {
      const other = await opened.reopen()
      const names = Array.from({ length: 50 }, (_, index) => `org ${index}`)
      await Promise.all(names.flatMap((each) => [increment(store, each), increment(other, each)]))
      expect((await store.all()).orgs.map(({ state }) => state)).toEqual(names.map(() => '2'))
    })

    it('keeps orgs apart, and lists them all', async () => {
      expect((await store.all()).orgs).toEqual([])
      for (const each of ['b', 'a', 'c']) await put(store, each, `state of ${each}`)
      await put(store, 'a', 'changed')
      const { orgs } = await store.all()
      expect(orgs.toSorted((one, two) => (one.org < two.org ? -1 : 1))).toEqual([
        { org: 'a', state: 'changed' },
        { org: 'b', state: 'state of b' },
        { org: 'c', state: 'state of c' },
      ])
    })

    it('tells one time, in milliseconds since 1970, that does not go back', async () => {
      const other = await opened.reopen()
      const times: number[] = []
      const note = (handle: QuotaStore) =>
        handle.update(org, (_, nowMs) => ({ state: '', result: times.push(nowMs) }))
      for (let count = 0; count < 10; count++) {
        await note(count % 2 === 0 ? store : other)
        times.push((await (count % 2 === 0 ? other : store).all()).nowMs)
      }
      // An hour is more than clocks of machines that work together differ by.
      expect(Math.abs(times[0]! - Date.now())).toBeLessThan(3_600_000)
      for (const [index, time] of times.slice(1).entries())
        // A whole millisecond may be cut off on one way and not on the other.
        expect(time).toBeGreaterThanOrEqual(times[index]! - 1)
    })

    it('knows the org of a key once it was noted; a later note holds', async () => {
      const other = await opened.reopen()
      const key = 'https://api.example.com key#1a2b3c4d5e6f'
      expect(await store.orgOfKey(key)).toBeNull()
      await store.noteOrgOfKey(key, 'org 1')
      await store.noteOrgOfKey('another key', 'org 1')
      expect(await other.orgOfKey(key)).toBe('org 1')
      await other.noteOrgOfKey(key, 'org 2')
      await other.noteOrgOfKey(key, 'org 2')
      expect(await store.orgOfKey(key)).toBe('org 2')
      expect(await store.orgOfKey('another key')).toBe('org 1')
      expect((await store.all()).orgs).toEqual([])
    })

    it.each([
      ['JSON of 32 KB', JSON.stringify({ counts: Array.from({ length: 8_000 }, () => 123) })],
      ['characters outside ASCII', '{"user":"Zoë’s työ 株式会社 𝒳 🎉 \\u0007"}'],
      ['quotes and percent signs', `'; DROP TABLE quota; -- %s $1 "{}" \\`],
    ])('keeps %s, character by character', async (_, text) => {
      const name = `an org named ${text.slice(0, 40)}`
      await put(store, name, text)
      const other = await opened.reopen()
      expect(await read(other, name)).toBe(text)
      expect((await other.all()).orgs).toEqual([{ org: name, state: text }])
    })

    it('is closed once and for all: later work fails in our words', async () => {
      const other = await opened.reopen()
      await store.close()
      await store.close()
      let ran = false
      const late = store.update(org, () => ({ state: '', result: (ran = true) }))
      await expect(late).rejects.toBeInstanceOf(SyncError)
      await expect(store.orgOfKey('key')).rejects.toBeInstanceOf(SyncError)
      expect(ran).toBe(false)
      expect(await increment(other)).toBe(1)
    })

    it('says where it is', () => {
      expect(store.place).not.toBe('')
    })
  })
}
