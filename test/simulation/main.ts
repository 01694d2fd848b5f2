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

const OPTIONS = {
  help: { type: 'boolean', short: 'h', default: false },
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
} as const

const HELP = `npm run simulate -- [options]          docs/reliability.md has the world, the moves and the invariants

  --seed S          the first seed (1)
  --histories N     so many histories (100)
  --minutes M       for so long
  --processes N     at a time (one for each processor)
  --through         goes on after a failure
  --steered         prefers what has led the code to where it had not been
  --ledger WHERE    ${LEDGERS.join(', ')} (sqlite)
  --story           tells each history
  --keep FILE       writes the plan of the smallest history that fails
  --plan FILE       plays a plan
  --planted NAME    plants a bug of test/simulation/planted/table.ts, or all, and plays until it is found
  --plans           with --planted: plays the plans that are kept`

const { values: given } = readArguments()

function readArguments() {
  try {
    return parseArgs({ options: OPTIONS })
  } catch (error) {
    return refuse((error as Error).message)
  }
}

function refuse(why: string): never {
  process.stderr.write(`${why}\n\n${HELP}\n`)
  process.exit(2)
}

if (given.help) {
  process.stdout.write(`${HELP}\n`)
  process.exit(0)
}

const ledger = LEDGERS.find((one) => one === given.ledger)
if (ledger === undefined) refuse(`--ledger ${given.ledger}: expected ${LEDGERS.join(', ')}`)
for (const name of ['seed', 'histories', 'minutes', 'processes'] as const)
  if (given[name] !== undefined && !(Number(given[name]) > 0))
    refuse(`--${name} ${given[name]}: expected a number above 0`)

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
