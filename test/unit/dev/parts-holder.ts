// Claims the parts of a configuration, and holds them until it is killed. With `starting` they are not ready until a line comes in.

import { claimParts } from '../../../src/dev/claim.ts'
import { stateDirOf } from '../../../src/dev/parts.ts'

const configFile = process.argv[2]!
const claim = await claimParts(configFile, stateDirOf(configFile))
const parts = {
  command: 'run contacts --local',
  sync: 'contacts',
  temporal: { address: '127.0.0.1:7243', namespace: 'default', ui: null },
  service: null,
}
const [, , , how] = process.argv
claim.write({ ...parts, isReady: how !== 'starting' })
process.stdin.once('data', () => claim.write({ ...parts, isReady: true }))
setInterval(() => {}, 60_000)
