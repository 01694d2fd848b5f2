// What `records-sync init FILE` says at its end: what it wrote, the plan of the import, and the commands that come next.

import { basename } from 'node:path'
import { statSync } from 'node:fs'
import { findSync, type DraftImport } from '../../../config/index.ts'
import type { RecordsClient } from '../../client/index.ts'
import type { Proposal } from '../../import/index.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import { forecast } from '../shared/forecast.ts'
import { wrapped } from '../shared/terminal.ts'
import type { ServicePlace } from './init-service.ts'
import { plan } from './plan.ts'
import { planImport } from './plan-import.ts'
import { printJson } from '../json.ts'
import type { CsvSample } from './init-sample.ts'

/** A plan reads all of a file: that of a larger one is made when a person asks for it. */
const PLANNED_BYTES_MAX = 67_108_864

export interface Written {
  readonly file: string
  readonly sample: CsvSample
  readonly proposal: Proposal
  readonly draft: DraftImport
  readonly client: RecordsClient
  readonly place: ServicePlace
  /** Whether the sync was added to a configuration that was there. */
  readonly isAdded: boolean
}

export async function reportInit(context: CommandContext, written: Written): Promise<number> {
  const { terminal, json, configFile } = context
  const { draft, proposal, isAdded } = written
  if (json) {
    const lines: string[] = []
    const quiet = {
      ...context,
      terminal: { ...terminal, out: (line = '') => void lines.push(line) },
    }
    const code = noPlanText(context, written) ? EXIT.done : await planOf(quiet, written)
    const { properties, open, left, objectType, key } = proposal
    printJson(terminal, {
      config: configFile,
      added: isAdded,
      sync: draft.sync,
      object_type: objectType,
      matching_property: key!.property,
      properties,
      open,
      left,
      warnings: [
        ...written.sample.warnings,
        ...(written.sample.waiting === null ? [] : [written.sample.waiting.reason]),
      ],
      plan: lines.length === 0 ? null : (JSON.parse(lines.join('\n')) as unknown),
    })
    return code
  }
  const count = `${proposal.properties.length} properties; its comments say why`
  terminal.out('')
  terminal.out(
    isAdded
      ? `Added sync ${draft.sync} to ${configFile}: ${count}`
      : `Wrote ${configFile}: ${count}`,
  )
  terminal.out('')
  const noPlan = noPlanText(context, written)
  if (noPlan !== null) terminal.out(noPlan)
  const code = noPlan === null ? await planOf(context, written) : EXIT.done
  terminal.out('')
  for (const line of nextSteps(context, written)) terminal.out(line)
  return code
}

/** Settings without which the file is refused, or read otherwise. */
const NEEDED = ['encoding', 'delimiter'] as const

/** Why no plan is made; null: it is. */
function noPlanText(
  { hint, configFile }: CommandContext,
  { file, sample: { dialect, waiting }, draft: { sync } }: Written,
): string | null {
  const open = NEEDED.find((name) => waiting?.dialect[name] !== dialect[name] && waiting !== null)
  if (open !== undefined)
    return `No plan yet: until you have decided on the ${open}, in the line "# from:" of ${basename(configFile)}, the file cannot be read`
  return statSync(file).size > PLANNED_BYTES_MAX
    ? `The file is large: ${hint(`plan ${sync}`)} reads all of it, and says what a run would do`
    : null
}

/** The plan, with the service that the configuration names, or the one like that of `records-sync dev`. */
async function planOf(context: CommandContext, { draft, client, place }: Written): Promise<number> {
  if (place.url !== null) return await plan(context, draft.sync)
  const sync = findSync(await context.loadConfig(), draft.sync)
  if (sync.kind !== 'import') return EXIT.done
  const keyFingerprint = await client.keyFingerprint()
  const limit = client.quota.limitPerMinute()
  return await planImport(
    context,
    sync,
    {
      client,
      keyFingerprint,
      connect: async () => ({ client, keyFingerprint }),
      forecastOf: async (requests) => forecast(requests, 'import', null, { limit, reserve: 0 }),
    },
    {},
  )
}

/** Commands that do what they say in this folder as it is now. */
function nextSteps(
  { hint, configFile }: CommandContext,
  { proposal, sample, draft, place }: Written,
): string[] {
  const look =
    proposal.open.length > 0 || sample.waiting !== null
      ? '; lines that begin with "# " wait for you'
      : ''
  const [run, what] =
    place.url === null
      ? [`dev -- run ${draft.sync}`, 'with a Records Service of its own, to try it on']
      : [`run ${draft.sync} --local`, 'in this terminal, with all that it needs']
  return [
    'Next:',
    ...wrapped(`1. look at ${basename(configFile)}${look}`, 2, 80),
    `  2. ${hint(run)}`,
    `     ${what}`,
  ]
}
