// Plays the histories that it is told of: one JSON object a line in, one out.

import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { RealServer } from '../postgres/thread.ts'
import { completed } from './compact.ts'
import { drawPlan, type Plan } from './plan.ts'
import { play } from './play.ts'
import type { Bundle } from '../temporal/index.ts'
import { nextVersionOf } from './next-version.ts'

export type Order = { readonly seed: number } | { readonly plan: Plan }
/** With the PostgreSQL server that it needs. */
export type Sent = Order & { readonly server: RealServer | null }

/** What became of a history. */
export interface Played {
  /** Null if its process ended, and it was asked for by its seed. */
  readonly plan: Plan | null
  readonly seed: number
  readonly story: string
  /** What must never be, and was. */
  readonly violations: readonly string[]
  /** `ms` are those of a processor. */
  readonly figures: { readonly events: number; readonly ms: number; readonly virtualMs: number }
  /** What the code has come to: events of logs, states and reasons of runs and items, failures. */
  readonly marks: readonly string[]
}

const [, , workflows] = process.argv
const codeOf = (file: string): Bundle => ({ code: readFileSync(file, 'utf8') })
const bundles = { now: codeOf(workflows!), next: codeOf(nextVersionOf(workflows!)) }

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line) as Sent
  const plan = 'plan' in order ? completed(order.plan) : drawPlan(order.seed)
  const played: Played = { plan, seed: plan.seed, ...(await play(plan, bundles, order.server)) }
  process.stdout.write(`${JSON.stringify(played)}\n`)
}
process.exit(0)
