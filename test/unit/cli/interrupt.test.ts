// One press of Ctrl-C counts once, however often the signal comes; a second press, or another signal, ends the process.

import { beforeEach, afterEach, expect, test, vi } from 'vitest'
import { onInterrupt } from '../../../src/cli/shared/interrupt.ts'

/** Signals that nothing here listens to otherwise. */
const SIGNALS = ['SIGUSR2', 'SIGPIPE'] as const
let seen: string[]
let stop: () => void
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
  seen = []
  stop = onInterrupt(SIGNALS, (signal) => void seen.push(signal))
})
afterEach(() => {
  stop()
  vi.useRealTimers()
  vi.restoreAllMocks()
})

test('the same signal within a second is the same press', () => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true)
  process.emit('SIGUSR2', 'SIGUSR2')
  vi.advanceTimersByTime(900)
  process.emit('SIGUSR2', 'SIGUSR2')
  expect(seen).toEqual(['SIGUSR2'])
  expect(kill).not.toHaveBeenCalled()
  vi.advanceTimersByTime(200)
  process.emit('SIGUSR2', 'SIGUSR2')
  expect(seen).toEqual(['SIGUSR2'])
  expect(kill.mock.calls).toEqual([[process.pid, 'SIGUSR2']])
  expect(process.listenerCount('SIGUSR2')).toBe(0)
})

test('another signal is meant', () => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true)
  process.emit('SIGUSR2', 'SIGUSR2')
  process.emit('SIGPIPE', 'SIGPIPE')
  expect(kill.mock.calls).toEqual([[process.pid, 'SIGPIPE']])
})
