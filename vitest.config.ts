import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/bench/**'],
    globalSetup: ['test/setup/global.ts'],
    pool: 'forks',
    // One Temporal server serves all of them; more workers would only wait for it.
    maxWorkers: 2,
    // As Node does: the default import of a CommonJS module is its exports.
    deps: { interopDefault: false },
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
})
