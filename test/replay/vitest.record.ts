// The configuration for recording: the same set-up, another file.

import { defineConfig, mergeConfig } from 'vitest/config'
import base from '../../vitest.config.ts'

export default defineConfig({
  ...mergeConfig(base, {}),
  test: {
    ...base.test,
    projects: [
      {
        extends: true,
        test: {
          name: 'record',
          include: ['test/replay/record.ts'],
          globalSetup: ['test/setup/global.ts'],
        },
      },
    ],
  },
})
