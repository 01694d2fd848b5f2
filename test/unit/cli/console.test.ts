// `records-sync console`: where it listens, and where it refuses to.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { consoleCommand } from '../../../src/cli/commands/console.ts'
import { createContext, type CommandContext } from '../../../src/cli/shared/context.ts'
import { consolePartsOf, startConsole } from '../../../src/console/index.ts'
import { silentLogger } from '../../../src/core/ports.ts'

let folder: string
let context: CommandContext

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'records-sync-console-command-'))
  const file = join(folder, 'records-sync.yaml')
  await writeFile(
    file,
    `connections: { crm: { service: "http://127.0.0.1:9", key: "\${NO_SUCH_KEY}" } }
warehouses: { lake: { duckdb: ./lake.duckdb } }
syncs: { copy: { mirror: { from: crm, to: lake } } }
`,
  )
  context = createContext({ config: file, json: false })
})
afterEach(() => rm(folder, { recursive: true, force: true }))

it.each(['0.0.0.0', '::', '192.168.1.4', 'console.example', '127.0.0.1.example'])(
  'refuses to listen at %s, and says what to do',
  async (host) => {
    await expect(consoleCommand(context, { host, port: 0 })).rejects.toThrow(
      /other machines reach .*expected `tls`.*, or `behind_proxy`, and `url`.*`users`.*127\.0\.0\.1.*ssh -L/,
    )
  },
)

it('shows a project that has not run yet, without the key of its service', async () => {
  const parts = consolePartsOf(context)
  const running = await startConsole({ parts, host: '127.0.0.1', port: 0, logger: silentLogger })
  try {
    const page = await (await fetch(running.url)).text()
    expect(page).toContain('never run')
    expect(page).toContain('copy')
  } finally {
    await running.close()
  }
})

it('says that its port is taken, and which option helps', async () => {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as AddressInfo
  const parts = consolePartsOf(context)
  await expect(
    startConsole({ parts, host: '127.0.0.1', port, logger: silentLogger }),
  ).rejects.toThrow(/is taken by another program.*--port/)
  other.close()
})
