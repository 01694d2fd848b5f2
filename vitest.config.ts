import { statfsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { HANG_MS } from './test/hang.ts'

/** A file system in memory with room enough: what the tests store there is not worth a wait for a disk. */
function memoryFolder(): string | undefined {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    return bavail * bsize >= 4 * 1_024 ** 3 ? '/dev/shm' : undefined
  } catch {
    return undefined
  }
}

const folder = memoryFolder()

/** Parts alone, in this process: `npm run test:unit`, the quick loop. */
const unit = ['test/unit/**/*.test.ts']
/** What takes seconds: a database, a whole service, a simulation, thousands of cases. */
const slow = [
  'test/{golden,other-service,simulation,suites}/**/*.test.ts',
  'test/unit/**/*.slow.test.ts',
]

/** What is done by `npm run test:soak` alone. */
const left = process.env['RECORDS_SYNC_SOAK'] === undefined ? ['test/**/*.soak.test.ts'] : []

/** A few more processes than cores: while one waits, another one works. */
const cores = Math.max(2, availableParallelism())
/** One tier after the other; within a tier Vitest takes the longest file first, as far as it knows from a run before. */
const tier = (groupOrder: number, maxWorkers: number) => ({ maxWorkers, sequence: { groupOrder } })

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: unit, exclude: [...slow, ...left], ...tier(2, cores + 2) },
      },
      {
        extends: true,
        test: { name: 'slow', include: slow, exclude: left, ...tier(1, cores + 1) },
      },
      {
        extends: true,
        test: {
          name: 'system',
          // Half of them wait, for a heartbeat or a time-out, while others work.
          ...tier(0, 5),
          include: ['test/**/*.test.ts'],
          exclude: [...unit, ...slow, ...left, 'test/bench/**'],
          globalSetup: ['test/setup/global.ts'],
        },
      },
    ],
    pool: 'forks',
    // The files of a process share its modules: their import was a fifth of all the work.
    isolate: false,
    // As Node does: the default import of a CommonJS module is its exports.
    deps: { interopDefault: false },
    env: folder === undefined ? {} : { TMPDIR: folder },
    // Temporal's client may retry a call by a timer after its connection was closed; nobody waits for that call any more.
    onUnhandledError: ({ message, stack = '' }) =>
      !(message === 'Channel has been shut down' && stack.includes('grpc-retry')),
    // A test may wait for several processes in turn; none is as slow as this on any machine.
    testTimeout: 2 * HANG_MS,
    hookTimeout: 2 * HANG_MS,
    expect: { poll: { timeout: HANG_MS, interval: 50 } },
  },
})
