// Waiting for the quota: a short wait inside the activity, which shows that it lives and can be cancelled; a long one
// outside of it, which holds no slot, is no alarm and costs no attempt.

import { afterEach, expect, test } from 'vitest'
import { contactsCsv, createProject, fastTuning, type Project } from '../e2e/project.ts'
import { startProxy } from './proxy.ts'
import { untilHung } from '../hang.ts'

let project: Project
let proxy: { url: string; close(): void }
let refused = 0
afterEach(async () => {
  proxy.close()
  await project.stop()
})

/** An import whose every upsert is told to wait. */
async function startRefused(retryAfterS: number) {
  refused = 0
  project = await createProject()
  proxy = await startProxy(project.service.url, (url, body) => {
    if (!url.includes('/batch/upsert/')) return { pass: body }
    refused++
    const headers = {
      'content-type': 'application/problem+json',
      'svc-request-id': 'proxy',
      'ratelimit-limit': '600',
      'ratelimit-remaining': '0',
      'retry-after': String(retryAfterS),
    }
    const problem = {
      type: 'about:blank',
      title: 'Too Many Requests',
      status: 429,
      code: 'rate_limited',
      detail: 'wait',
    }
    return { status: 429, headers, body: JSON.stringify(problem) }
  })
  project.env['RECORDS_URL'] = proxy.url
  project.write('contacts.csv', contactsCsv(120))
  await project.startWorker()
  const handle = await project.start('contacts', { ...fastTuning, heartbeat_timeout_ms: 15_000 })
  const pending = async () => (await handle.describe()).raw.pendingActivities?.[0]
  return { handle, pending }
}

async function expectCancelled() {
  const ledger = project.ledger()
  try {
    const [run] = await ledger.runs({ limit: 1 })
    expect(run).toMatchObject({ state: 'cancelled' })
    expect(run!.counts!.states).toMatchObject({ not_sent: 120 })
  } finally {
    await ledger.close()
  }
}

test('a long wait leaves the activity, benign, and comes back when it is over', async () => {
  const { handle, pending } = await startRefused(3_600)
  await expect
    .poll(async () => (await pending())?.lastFailure?.applicationFailureInfo?.type, untilHung)
    .toBe('QuotaWait')
  const activity = (await pending())!
  expect(activity.lastFailure!.applicationFailureInfo!.category).toBe(1)
  expect(activity.lastFailure!.message).toContain('waiting is normal')
  const seconds = (time: typeof activity.scheduledTime) => Number(time?.seconds ?? 0)
  const waitS = seconds(activity.scheduledTime) - seconds(activity.lastAttemptCompleteTime)
  // Whoever is refused asks again within a minute, however long the service says: a wait may end early.
  expect(waitS).toBeGreaterThan(1)
  expect(waitS).toBeLessThanOrEqual(60)
  await handle.cancel()
  await expect(handle.result()).rejects.toThrow()
  await expectCancelled()
})

test('a short wait is sat through with signs of life, so that a cancel arrives', async () => {
  const { handle, pending } = await startRefused(44)
  await expect.poll(() => refused).toBeGreaterThan(0)
  expect((await pending())!.attempt).toBe(1)
  await handle.cancel()
  await expect(handle.result()).rejects.toThrow()
  const { events } = await handle.fetchHistory()
  const ended = (events ?? []).filter((event) => event.activityTaskTimedOutEventAttributes)
  expect(ended).toEqual([])
  expect(refused).toBeLessThanOrEqual(3)
  await expectCancelled()
})
