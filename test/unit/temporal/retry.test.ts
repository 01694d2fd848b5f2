// A server that only is slow is asked again, and each time for longer: one that needs 20 s for an answer is reached too.

import { expect, onTestFinished, test, vi } from 'vitest'
import { connectWithRetry } from '../../../src/temporal/client.ts'
import { notTemporal, temporalSlow } from '../../../src/temporal/probe.ts'

test('each try may take twice as long as the one before, within what is left', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const tries: number[] = []
  const reports: string[] = []
  const retry = (needsMs: number) =>
    connectWithRetry(
      async (maxMs) => {
        tries.push(Math.round(maxMs / 1_000))
        await vi.advanceTimersByTimeAsync(Math.min(maxMs, needsMs))
        if (needsMs > maxMs) throw temporalSlow('127.0.0.1:7233')
        return 'connected'
      },
      { maxMs: 60_000, report: (why) => void reports.push(why) },
    )
  vi.setSystemTime(0)
  const settled = async (result: Promise<string>) => {
    let end: unknown
    void result.then(
      (value) => (end = value),
      (error: Error) => (end = error),
    )
    for (let turn = 0; turn < 100 && end === undefined; turn++)
      await vi.advanceTimersByTimeAsync(1_000)
    return end
  }
  expect(await settled(retry(20_000))).toBe('connected')
  expect(tries.slice(0, 3)).toEqual([5, 10, 20])
  tries.length = 0
  expect(await settled(retry(Infinity))).toMatchObject({ code: 'temporal_slow' })
  // The last one has what the others have left.
  expect(tries.reduce((sum, one) => sum + one)).toBeLessThanOrEqual(65)
  expect(reports).toHaveLength(2)
  expect(reports[0]).toContain('it is busy or just starting, or it is not a Temporal server')
})

test('no wait helps against something else', async () => {
  let tries = 0
  const foreign = connectWithRetry(
    () => {
      tries += 1
      return Promise.reject(notTemporal('127.0.0.1:7233'))
    },
    { maxMs: 60_000, report: () => {} },
  )
  await expect(foreign).rejects.toMatchObject({ code: 'temporal_foreign' })
  expect(tries).toBe(1)
})
