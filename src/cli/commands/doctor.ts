// `records-sync doctor`: whether this machine, the servers and this project are well, and what to do where they are not. It asks
// and changes nothing. Promises kept here: it ends within seconds, whatever hangs; it shows no key; it works without a configuration.

import { existsSync } from 'node:fs'
import { relative } from 'node:path'
import type { Config } from '../../../config/index.ts'
import { ConfigError } from '../../core/errors.ts'
import { countText } from '../../core/format.ts'
import { connectionProbes } from '../doctor/connections.ts'
import {
  finding,
  fine,
  runProbes,
  ownMessage,
  type DoctorFinding,
  type Probe,
  type Verdict,
} from '../doctor/findings.ts'
import {
  diskFindings,
  needFindings,
  nodeFinding,
  temporalCliFinding,
  temporaryFinding,
} from '../doctor/machine.ts'
import { devFindings, metricsFinding } from '../doctor/ports.ts'
import { filesFinding, ledgerProbe, warehouseProbes } from '../doctor/stores.ts'
import { temporalFindings } from '../doctor/temporal.ts'
import { printJson } from '../json.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import { findQuotas } from '../shared/forecast.ts'
import { printWrapped, safeText, type Terminal } from '../shared/terminal.ts'

/** How long each part may take, ms. */
interface DoctorLimits {
  /** A probe as a whole. */
  readonly probe: number
  /** A Temporal server that takes connections, until it is called slow. */
  readonly temporal: number
}
const LIMITS: DoctorLimits = { probe: 15_000, temporal: 5_000 }
const INDENT = 6

export async function doctor(
  context: CommandContext,
  limits: DoctorLimits = LIMITS,
): Promise<number> {
  const { terminal, json } = context
  const { config, findings } = await readConfiguration(context)
  terminal.live('Asking the machine, Temporal and the services')
  const quotas = config && (await findQuotas(context))
  const connections = config && connectionProbes(context, config, quotas)
  const found = [
    ...findings,
    ...(await runProbes(
      [
        ...machineProbes(context, config, limits),
        ...(config ? projectProbes(context, config) : []),
        ...(connections?.probes ?? []),
      ],
      limits.probe,
    )),
  ]
  terminal.endLive()
  // Not waited for: a service that hangs would hold the end up.
  void connections?.close().catch(() => {})
  const isWell = found.every(({ verdict }) => verdict !== 'failed')
  if (json) printJson(terminal, { ok: isWell, findings: found.map(findingToJson) })
  else print(context, found, config !== null)
  if (isWell) return EXIT.done
  return findings.some(({ verdict }) => verdict === 'failed') ? EXIT.usage : EXIT.stopped
}

const findingToJson = ({ subject, verdict, message, action }: DoctorFinding) => ({
  subject,
  ok: verdict !== 'failed',
  verdict,
  message,
  action,
})

/** The configuration, if there is one that can be used. */
async function readConfiguration(
  context: CommandContext,
): Promise<{ config: Config | null; findings: readonly DoctorFinding[] }> {
  const { configFile, hint } = context
  const subject = 'configuration'
  const file = relative(process.cwd(), configFile)
  if (!existsSync(configFile)) {
    const make = `${hint('init --example')} makes one to try, ${hint('init FILE.csv')} one for your file`
    // The usual one was not asked for.
    const verdict = file === 'records-sync.yaml' ? 'warning' : 'failed'
    return {
      config: null,
      findings: [finding(verdict, subject, `there is no ${safeText(file, 200)}`, make)],
    }
  }
  try {
    const config = await context.loadConfig()
    const { connections, syncs } = config
    const text = `${safeText(file, 200)}, ${countText(Object.keys(connections).length, 'connection')}, ${countText(Object.keys(syncs).length, 'sync')}`
    return { config, findings: [fine(subject, text)] }
  } catch (error) {
    const lines = error instanceof ConfigError ? error.message.split('\n') : [ownMessage(error)]
    const mend = 'Correct it there; config/README.md lists every setting'
    return {
      config: null,
      findings: lines.map((line) => finding('failed', subject, safeText(line, 1_000), mend)),
    }
  }
}

/** What is asked whether or not there is a configuration. */
function machineProbes(
  context: CommandContext,
  config: Config | null,
  { temporal: maxMs }: DoctorLimits,
): Probe[] {
  const { configFile, env } = context
  const server = config ?? { file: configFile, temporal: {} }
  return [
    {
      subject: 'Node',
      late: 'Try again',
      look: async () => [nodeFinding(), ...needFindings(), temporaryFinding()],
    },
    {
      subject: 'Temporal CLI',
      late: 'The program hangs: put another one on the PATH',
      look: async () => [await temporalCliFinding(env)],
    },
    {
      subject: 'disk',
      late: 'A disk does not answer: see whether it is mounted over the network',
      look: () => diskFindings(configFile, config),
    },
    { subject: 'dev', late: 'Try again', look: () => devFindings(configFile) },
    {
      subject: 'Temporal',
      late: 'The server is very slow: give it more processor and a faster disk',
      look: () => temporalFindings(context, server, { hasConfig: config !== null, maxMs }),
    },
  ]
}

const projectProbes = (context: CommandContext, config: Config): Probe[] => [
  {
    subject: 'worker.listen',
    late: 'Try again',
    look: (signal) => metricsFinding(config, signal),
  },
  { subject: 'files', late: 'Try again', look: async () => [filesFinding(context, config)] },
  ledgerProbe(context, config),
  ...warehouseProbes(context, config),
]

const STYLES = { ok: 'green', warning: 'yellow', failed: 'red' } as const
const WORDS = { ok: 'ok', warning: 'warn', failed: 'FAIL' } as const

function print(
  { terminal, hint }: CommandContext,
  found: readonly DoctorFinding[],
  hasConfig: boolean,
): void {
  for (const { subject, verdict, message, action } of found) {
    const head = terminal.style(STYLES[verdict], WORDS[verdict].padEnd(INDENT))
    printWrapped(terminal, `${subject}: ${safeText(message, 2_000)}`, { indent: INDENT, head })
    if (action !== null) printAction(terminal, action)
  }
  const count = (wanted: Verdict) => found.filter(({ verdict }) => verdict === wanted).length
  const [failed, warnings] = [count('failed'), count('warning')]
  const sum =
    failed + warnings === 0
      ? 'All is well.'
      : `${countText(failed, 'failure')}, ${countText(warnings, 'warning')}.`
  terminal.out(hasConfig ? `${sum} Mappings and files of the syncs: ${hint('check')}` : sum)
}

const printAction = (terminal: Terminal, action: string): void =>
  printWrapped(terminal, action, { indent: INDENT + 2, head: `${' '.repeat(INDENT)}→ ` })
