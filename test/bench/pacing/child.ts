// Runs the scenarios that its parent sends, one after the other.

import { OrgQuota } from '../../../src/client/pacer/org-quota.ts'
import { simulate, type Scenario } from './engine.ts'

process.on('message', (scenario: Scenario) => {
  process.send!(simulate(scenario, OrgQuota, () => performance.now()))
})
