// Tasks that run behind their caller: one at a time, in order, and none goes on when it is over.

import { setTimeout as wait } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { withBehind } from '../../../src/core/concurrency.ts'

it('runs a task while the next is prepared, and one at a time', async () => {
  const noted: string[] = []
  const task = (name: string) => async () => {
    noted.push(`${name} begins`)
    await wait(1)
    noted.push(`${name} ends`)
  }
  await withBehind(async (behind) => {
    await behind.start(task('a'))
    noted.push('b is prepared')
    await behind.start(task('b'))
    await behind.end()
  })
  expect(noted).toEqual(['a begins', 'b is prepared', 'a ends', 'b begins', 'b ends'])
})

it('fails with what a task threw, at the next one or at the end', async () => {
  const failed = new Error('the disk is full')
  const fail = () => Promise.reject(failed)
  let later = 0
  const next = withBehind(async (behind) => {
    await behind.start(fail)
    await behind.start(async () => void later++)
  })
  await expect(next).rejects.toBe(failed)
  const end = withBehind(async (behind) => {
    await behind.start(fail)
    await behind.end()
  })
  await expect(end).rejects.toBe(failed)
  expect(later).toBe(0)
})

it('waits for the last task where its caller fails', async () => {
  let isOver = false
  const stop = new Error('stopped')
  const failing = withBehind(async (behind) => {
    await behind.start(async () => {
      await wait(5)
      isOver = true
    })
    throw stop
  })
  await expect(failing).rejects.toBe(stop)
  expect(isOver).toBe(true)
})
