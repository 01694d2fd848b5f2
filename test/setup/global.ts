// Once for a whole test run: compiles what changed, finds the Temporal CLI (builds it if it must) and starts one development
// server. Tests reach the last two with `inject('temporalAddress')` and `inject('temporalCli')`.

import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { silentLogger } from '../../src/core/ports.ts'
import { findTemporalCli } from '../../src/dev/temporal-cli.ts'
import { isAnswering, startTemporal } from '../../src/dev/temporal-server.ts'
import { connectClient } from '../../src/temporal/client.ts'
import { ensureSearchAttributes } from '../../src/temporal/search-attributes.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of a Temporal server that all test files share: use ids and task queues of your own. */
    temporalAddress: string
    /** Path of the Temporal CLI, for tests that start a server of their own. */
    temporalCli: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Tests run the compiled program, and bundled workflows.
  const compile = fileURLToPath(new URL('../../src/dev/setup.mjs', import.meta.url))
  execFileSync(process.execPath, [compile], { stdio: 'inherit' })
  const progress = (line: string) => void process.stderr.write(`${line}\n`)
  const cli = await findTemporalCli({ env: process.env, progress })
  project.provide('temporalCli', cli.path)

  const given = process.env.TEMPORAL_ADDRESS
  if (given) {
    if (!(await isAnswering(given))) {
      throw new Error(`TEMPORAL_ADDRESS is ${given}, but no Temporal server answers there`)
    }
    const { client, close } = await connectClient({ address: given, namespace: 'default' })
    await ensureSearchAttributes(client.connection, 'default')
    await close()
    project.provide('temporalAddress', given)
    return async () => {}
  }
  const server = await startTemporal({ cliPath: cli.path, headless: true, logger: silentLogger })
  project.provide('temporalAddress', server.address)
  return () => server.stop()
}
