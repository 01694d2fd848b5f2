// What people did to runs and schedules.

import { afterEach, beforeEach, expect, it } from 'vitest'
import type { BeganAction, Ledger } from '../../../src/ledger/ledger.ts'
import { openRun, type Open, type Opened } from './scene.ts'

const pausing = (more: Partial<BeganAction> = {}): BeganAction => ({
  action: 'pause',
  who: 'anna@desk',
  via: 'console',
  sync: 'contacts',
  run: null,
  details: null,
  token: null,
  ...more,
})

export function actionTests(open: Open): void {
  let opened: Opened
  let ledger: Ledger
  beforeEach(async () => {
    opened = await open()
    ledger = opened.ledger
  })
  afterEach(() => opened.cleanup())

  const begin = async (more: Partial<BeganAction> = {}) => {
    const found = await ledger.beginAction(pausing(more))
    if ('earlier' in found) throw new Error('it is known already')
    return found.begun
  }

  it('are there before they are carried out, and have an end after', async () => {
    const begun = await begin({ run: 7, details: 'lunch' })
    expect(begun).toMatchObject({ state: 'begun', endedAt: null, result: null, run: 7 })
    expect(await ledger.actions({ limit: 10 })).toEqual([begun])
    await ledger.endAction(begun.number, { state: 'done', result: 'paused' })
    const [ended] = await ledger.actions({ run: 7, limit: 10 })
    expect(ended).toEqual({
      ...begun,
      endedAt: expect.any(String),
      state: 'done',
      result: 'paused',
    })
    expect(Date.parse(ended!.endedAt!)).toBeGreaterThanOrEqual(Date.parse(begun.beganAt))
  })

  it('end once', async () => {
    const { number } = await begin()
    await ledger.endAction(number, { state: 'done', result: 'a' })
    await ledger.endAction(number, { state: 'failed', result: 'b' })
    expect(await ledger.actions({ limit: 1 })).toMatchObject([{ state: 'done', result: 'a' }])
  })

  it('with one token are one, at the same time too; those without are many', async () => {
    const both = await Promise.all(
      ['anna', 'ben'].map((who) => ledger.beginAction(pausing({ who, token: 'form 1' }))),
    )
    expect(both.flatMap((each) => Object.keys(each)).toSorted()).toEqual(['begun', 'earlier'])
    await begin()
    await begin()
    expect(await ledger.actions({ limit: 10 })).toHaveLength(3)
  })

  it('are found by run, also the one that started it, and by sync, the newest first', async () => {
    const started = await begin({ action: 'run' })
    const { id: run, workflowId } = await openRun(ledger)
    await ledger.endAction(started.number, { state: 'done', result: null, workflowId })
    const paused = await begin({ run })
    const other = await begin({ sync: 'companies', run: run + 1 })
    const numbers = async (of: { run?: number; sync?: string }) =>
      (await ledger.actions({ ...of, limit: 10 })).map((each) => each.number)
    expect(await numbers({ run })).toEqual([paused.number, started.number])
    expect(await numbers({ sync: 'contacts' })).toEqual([paused.number, started.number])
    expect(await numbers({})).toEqual([other.number, paused.number, started.number])
    expect(await ledger.actions({ limit: 1 })).toMatchObject([{ number: other.number }])
  })
}
