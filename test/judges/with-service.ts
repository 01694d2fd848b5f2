// Runs a command beside a service, which it finds in RECORDS_URL and RECORDS_KEY: the org of the examples in the OpenAPI
// document, with their contacts. Ends with the command, and as it ended.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { startService } from '../../src/service/index.ts'
import { EXAMPLE_ORG_ID, EXAMPLE_SECRET } from '../../src/service/openapi/examples.ts'

const [program, ...args] = process.argv.slice(2)
if (program === undefined) {
  throw new Error('A command was expected: node --import tsx test/judges/with-service.ts COMMAND …')
}
const service = await startService({
  orgId: EXAMPLE_ORG_ID,
  secret: EXAMPLE_SECRET,
  seedRecords: 3,
})
const env = { ...process.env, RECORDS_URL: service.url, RECORDS_KEY: service.key }
const child = spawn(program, args, { stdio: 'inherit', env })
const [code] = await once(child, 'exit')
await service.close()
process.exitCode = (code as number | null) ?? 1
