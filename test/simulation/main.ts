// `npm run simulate`: plays histories until they are done, or the time is over. The first that breaks an invariant is made smaller, and told.

import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { playPlanted } from './planted/play.ts'
import type { Played } from './search/child.ts'
import { Fleet } from './search/fleet.ts'
import { prepareSimulator } from './search/prepare.ts'
import { LEDGERS } from './search/database.ts'
import type { Plan } from './search/plan.ts'
import { search } from './search/search.ts'
import { shrink } from './search/shrink.ts'

const { values: given } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    histories: { type: 'string' },
    minutes: { type: 'string' },
    processes: { type: 'string', default: String(availableParallelism()) },
    plan: { type: 'string' },
    keep: { type: 'string' },
    story: { type: 'boolean', default: false },
    planted: { type: 'string' },
    plans: { type: 'boolean', default: false },
    steered: { type: 'boolean', default: false },
    through: { type: 'boolean', default: false },
    ledger: { type: 'string', default: 'sqlite' },
  },
})

const ledger = LEDGERS.find((one) => one === given.ledger)
if (ledger === undefined) throw new Error(`--ledger: expected ${LEDGERS.join(', ')}`)

const print = (line: string) => process.stdout.write(`${line}\n`)

function tell({ seed, violations, figures, story }: Played, withStory: boolean): void {
  print(
    `seed ${seed}: ${violations.length === 0 ? 'no violation' : violations.join('\n  ')}  ${JSON.stringify(figures)}`,
  )
  if (withStory) print(story)
}

/** Makes a history that failed smaller, and tells it. */
async function tellFailed(fleet: Fleet, failed: Played): Promise<void> {
  tell(failed, false)
  if (failed.plan === null) return
  print('making it smaller …')
  const { played, plan, tries } = await shrink(fleet, failed)
  print(`the smallest history that fails the same way, after ${tries} tries:\n`)
  print(played.story)
  print(`its plan:\n${JSON.stringify(plan)}`)
  if (given.keep !== undefined)
    writeFileSync(
      given.keep,
      `${JSON.stringify({ violation: played.violations[0], plan }, null, 1)}\n`,
    )
}

async function playSearch(fleet: Fleet): Promise<boolean> {
  const failed: Played[] = []
  const began = Date.now()
  const found = await search(fleet, {
    seed: Number(given.seed),
    histories: Number(given.histories ?? (given.minutes === undefined ? 100 : Infinity)),
    ms: Number(given.minutes ?? Infinity) * 60_000,
    isSteered: given.steered,
    ledger: ledger!,
    played: (played, count) => {
      if (given.story) tell(played, true)
      if (played.violations.length > 0) {
        failed.push(played)
        if (given.through) tell(played, false)
      }
      if (count % 50 === 0) print(`${count} histories, ${failed.length} failed`)
      return failed.length > 0 && !given.through
    },
  })
  const { histories, cpuMs, virtualMs, pairs, marks } = found
  print(
    `${histories} histories in ${Math.round((Date.now() - began) / 1_000)} s (${Math.round(cpuMs / histories)} ms of a processor each), ${Math.round(virtualMs / 3_600_000)} virtual hours; ${marks} places of the code, ${pairs} pairs with moves; ${failed.length} failed${failed.length > 0 ? `: seeds ${failed.map(({ seed }) => seed).join(' ')}` : ''}`,
  )
  if (failed[0] && !given.through) await tellFailed(fleet, failed[0])
  return failed.length === 0
}

async function main(): Promise<boolean> {
  if (given.planted !== undefined)
    return await playPlanted(given.planted, {
      seed: Number(given.seed),
      histories: Number(given.histories ?? 100),
      keeps: given.keep !== undefined,
      isNew: !given.plans,
      print,
    })
  const { program, workflows, remove } = await prepareSimulator()
  const fleet = new Fleet({ program, workflows, processes: Number(given.processes) })
  try {
    if (given.plan === undefined) return await playSearch(fleet)
    const { plan } = JSON.parse(readFileSync(given.plan, 'utf8')) as { plan: Plan }
    const played = await fleet.play({ plan })
    tell(played, true)
    return played.violations.length === 0
  } finally {
    fleet.close()
    remove()
  }
}

process.exit((await main()) ? 0 : 1)
