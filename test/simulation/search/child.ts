// Plays the histories that it is told of: one JSON object a line in, one out.

import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { drawPlan, type Plan } from './plan.ts'
import { play } from './play.ts'

const [, , workflows] = process.argv
const bundle = { code: readFileSync(workflows!, 'utf8') }

export type Order = { readonly seed: number } | { readonly plan: Plan }

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line) as Order
  const plan = 'plan' in order ? order.plan : drawPlan(order.seed)
  const played = await play(plan, bundle)
  process.stdout.write(`${JSON.stringify(played)}\n`)
}
process.exit(0)
