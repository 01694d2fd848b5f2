// The compiled command.

import { fileURLToPath } from 'node:url'

export const main = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url))
