// Started by temporal-server.test.ts: holds a server, ignores Ctrl-C, and lives until it is killed.

import { silentLogger } from '../../src/core/ports.ts'
import { startTemporal } from '../../src/dev/temporal-server.ts'

process.on('SIGINT', () => process.stdout.write('interrupted\n'))
const server = await startTemporal({
  cliPath: process.argv[2]!,
  headless: true,
  logger: silentLogger,
})
process.stdout.write(`${server.address}\n`)
