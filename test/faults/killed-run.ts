// An import whose workers are killed one after the other while it runs.

import { setTimeout as pause } from 'node:timers/promises'
import { expect, vi } from 'vitest'
import { HEARTBEAT_MS, untilHung } from '../hang.ts'
import { fastTuning, type Project } from '../e2e/project.ts'

/**
 * Runs the sync `contacts`, and kills at most `kills` workers meanwhile. The last worker is in this process, where nobody kills
 * it. Fails if the run does not end in `state`. @param random 0 to 1 @param start of a run of another purpose @returns how many were killed
 */
export async function runKilled(
  project: Project,
  kills: number,
  random: () => number,
  start = (tuning: object) => project.start('contacts', tuning),
  state = 'complete',
): Promise<number> {
  let killed = 0
  let worker = project.spawnWorker()
  const handle = await start({
    ...fastTuning,
    in_flight: 2,
    heartbeat_timeout_ms: HEARTBEAT_MS,
  })
  let ended = false
  const result = handle.result().finally(() => (ended = true))
  result.catch(() => {})
  while (!ended && killed < kills) {
    // Most of them while it works, the others at any moment of its start.
    const { requests } = project.service.stats()
    const works = () => ended || project.service.stats().requests > requests
    if (random() < 0.8) await vi.waitUntil(works, untilHung)
    await pause(random() * 1_500)
    if (ended) break
    worker.kill('SIGKILL')
    killed++
    if (killed < kills) worker = project.spawnWorker()
    else await project.startWorker()
  }
  expect(await result).toMatchObject({ state })
  worker.kill('SIGKILL')
  return killed
}
