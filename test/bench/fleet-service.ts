// The service of the fleet's benchmark, alone in a process: as many orgs as it is asked for, each with a key and a limit a minute
// of its own. `fleet-service.ts <orgs> <requests a minute>` prints its address and the keys.

import { startService } from '../../src/service/index.ts'

const [orgs, limit] = process.argv.slice(2).map(Number) as [number, number]
const service = await startService({ orgId: 1, limitPerMinute: limit })
for (let org = 2; org <= orgs; org++) service.addOrg(org)
const keys = Array.from({ length: orgs }, (_, index) =>
  service.mintKey({ orgId: index + 1, reach: 'org' }),
)
process.stdout.write(`${JSON.stringify({ url: service.url, keys })}\n`)
// It ends with whoever started it.
process.stdin.resume().once('end', () => process.exit())
