// A wait is a sign of life every five seconds, however many there are at a time, and leaves no timer behind.

import { expect, it } from 'vitest'
import { heartbeatEach, withHeartbeat } from '../../../src/runs/heartbeat.ts'
import { VirtualClock } from '../client/virtual-time.ts'

function activity() {
  const clock = new VirtualClock()
  const beats: number[] = []
  const startedAt = clock.now()
  const beat = () => void beats.push((clock.now() - startedAt) / 1_000)
  const wait = (ms: number) => withHeartbeat({ clock, beat }, clock.sleep(ms))
  return { clock, beats, beat, wait }
}

it('beats every five seconds of a wait', async () => {
  const { clock, beats, wait } = activity()
  const ended = wait(12_000)
  await clock.pass(60_000)
  await ended
  expect(beats).toEqual([5, 10])
  expect(clock.sleeping).toBe(0)
})

it('beats for waits that overlap as for one, until the last of them has ended', async () => {
  const { clock, beats, wait } = activity()
  const ended = [wait(4_000)]
  for (const ms of [3_000, 3_000, 3_000]) {
    await clock.pass(ms)
    ended.push(wait(4_000))
  }
  // One timer for all, and that of each wait itself.
  expect(clock.sleeping).toBe(1 + 2)
  await clock.pass(60_000)
  await Promise.all(ended)
  expect(beats).toEqual([5, 10])
  expect(clock.sleeping).toBe(0)
})

it('a wait after others counts from its own beginning', async () => {
  const { clock, beats, wait } = activity()
  const first = wait(4_000)
  await clock.pass(6_000)
  await first
  const second = wait(6_000)
  await clock.pass(60_000)
  await second
  expect(beats).toEqual([11])
})

it('beats between many short waits, none of which takes five seconds', async () => {
  const { clock, beats, wait } = activity()
  const reading = (async () => {
    for (let request = 0; request < 10; request++) await wait(1_300)
  })()
  await clock.pass(60_000)
  await reading
  expect(beats).toEqual([5.2, 10.4])
  expect(clock.sleeping).toBe(0)
})

it('gives the failure of a wait, and stops', async () => {
  const { clock, beats, beat } = activity()
  const failing = withHeartbeat(
    { clock, beat },
    clock.sleep(1_000).then(() => Promise.reject(new Error('gone'))),
  )
  const failed = expect(failing).rejects.toThrow('gone')
  await clock.pass(60_000)
  await failed
  expect(beats).toEqual([])
  expect(clock.sleeping).toBe(0)
})

it('two activities beat apart', async () => {
  const [one, other] = [activity(), activity()]
  const waits = [one.wait(6_000), other.wait(6_000)]
  await one.clock.pass(7_000)
  expect(one.beats).toEqual([5])
  expect(other.beats).toEqual([])
  await other.clock.pass(7_000)
  await Promise.all(waits)
  expect(other.beats).toEqual([5])
})

it('beats while the next item is waited for', async () => {
  const { clock, beats, beat } = activity()
  async function* slowly() {
    await clock.sleep(7_000)
    yield 1
  }
  const read = (async () => {
    const found: number[] = []
    for await (const item of heartbeatEach({ clock, beat }, slowly())) found.push(item)
    return found
  })()
  await clock.pass(60_000)
  expect(await read).toEqual([1])
  expect(beats).toEqual([5])
  expect(clock.sleeping).toBe(0)
})
