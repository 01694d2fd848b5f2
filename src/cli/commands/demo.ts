// `npm run demo`: the main job on real files, with embedded parts, in a folder of its own. The story for a newcomer by default, every
// main command with `--tour`. Ctrl-C stops all parts.

import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { startEmbedded, type Embedded } from '../../dev/embedded.ts'
import { claimError, findParts, stateDirOf } from '../../dev/parts.ts'
import type { RunningConsole } from '../../console/index.ts'
import { createContext, EXIT, reportError, type CommandContext } from '../shared/context.ts'
import { exampleFolder } from '../shared/examples.ts'
import { onInterrupt } from '../shared/interrupt.ts'
import { terminalLogger } from '../shared/logging.ts'
import { statusScreen, type Terminal } from '../shared/terminal.ts'
import { startOwnConsole } from './console.ts'
import { DemoEnd, type Demo } from './demo-steps.ts'
import { story } from './demo-story.ts'
import { tour } from './demo-tour.ts'
import { untilSignal } from './service.ts'
import { loadDuckdb } from '../../warehouses/duckdb/installed.ts'

export interface DemoOptions {
  /** Leaves everything running until Ctrl-C. */
  readonly keep: boolean
  /** Shows every main command with its whole output. */
  readonly tour: boolean
}

export async function demo(outer: CommandContext, options: DemoOptions): Promise<number> {
  const { terminal } = outer
  await loadDuckdb()
  const folder = resolve('.records-sync/demo')
  const configFile = join(folder, 'records-sync.yaml')
  const running = findParts(configFile)
  if (running !== null) throw claimError(running)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  cpSync(exampleFolder('crm'), folder, { recursive: true })
  const title = (text: string) => terminal.out(`\n${terminal.style('bold', text)}`)

  if (options.tour) title('1. Start: the Records Service, a Temporal server, a worker')
  else
    terminal.out('Starting a CRM to try it on, a Temporal server and a worker; Ctrl-C stops all.')
  const embedded = await startParts(terminal, configFile)
  let seen: RunningConsole | null = null
  const stop = new AbortController()
  const ignore = onInterrupt(['SIGINT', 'SIGTERM'], (signal) => {
    stop.abort()
    terminal.err('Stopping: batches in flight are settled first. Once more ends at once.')
    // What a step follows, it leaves at Ctrl-C only.
    if (signal === 'SIGTERM') process.kill(process.pid, 'SIGINT')
  })
  try {
    const service = embedded.service!
    process.env['TEMPORAL_ADDRESS'] = embedded.temporal.address
    process.env['RECORDS_URL'] = service.url
    process.env['RECORDS_API_KEY'] = service.key
    const context = createContext({ config: configFile, json: false }, terminal)
    if (options.keep) {
      seen = await startOwnConsole(context)
      terminal.out(`Console  ${terminal.style('bold', seen.url)}  every sync, in the browser`)
    }
    const step: Demo['step'] = async (work, codeMax = EXIT.rejects) => {
      const code = await work()
      if (stop.signal.aborted) throw new DemoEnd(EXIT.unknown)
      if (code > codeMax) throw new DemoEnd(code)
    }
    const temporalUi = embedded.temporal.uiUrl
    const stopped = stop.signal
    const shared: Demo = { context, folder, service, temporalUi, stopped, title, step }
    await (options.tour ? tour : story)(shared)
    if (!options.tour) printNext(terminal, folder)
    else if (!options.keep)
      terminal.out('  npm run demo -- --keep  leaves everything running, with the Temporal UI')
    if (options.keep) {
      ignore()
      terminal.out(`  ${seen!.url}  every sync, in the console`)
      terminal.out(`  ${temporalUi}  the runs in the Temporal UI`)
      terminal.out('Everything stays up. Ctrl-C stops all parts.')
      await untilSignal()
    }
    return EXIT.done
  } catch (error) {
    if (!stop.signal.aborted) {
      if (error instanceof DemoEnd) return error.exitCode
      throw error
    }
    // A step that was left in its middle may miss what it was about to read.
    if (!(error instanceof DemoEnd)) reportError(error, { terminal, json: false })
    terminal.err(terminal.style('yellow', 'Stopped before the end of the demo.'))
    return EXIT.unknown
  } finally {
    await seen?.close()
    await embedded.stop()
    ignore()
  }
}

async function startParts(terminal: Terminal, configFile: string): Promise<Embedded> {
  return await startEmbedded({
    configFile,
    env: ownEnv(),
    stateDir: stateDirOf(configFile),
    command: 'demo',
    sync: null,
    servicePort: 0,
    serviceLimit: null,
    temporalPort: 0,
    keepHistory: false,
    logger: terminalLogger(terminal, 'warn'),
    progress: (line) => terminal.err(line),
    ...statusScreen(terminal),
  })
}

function printNext({ out, style }: Terminal, folder: string): void {
  out(`\n${style('bold', 'Your own file, a service and a key (in the clone: npx records-sync …)')}`)
  out('  records-sync init FILE.csv --service URL --key file:./crm.key')
  out('  records-sync run NAME --local')
  out('  records-sync rejects')
  out(`  All files of this demo: ${relative('.', folder)}. More of it: npm run demo -- --tour`)
}

/** The environment without what would lead the demo into a real CRM, or to another Temporal server. */
function ownEnv(): NodeJS.ProcessEnv {
  for (const name of Object.keys(process.env))
    if (/^(TEMPORAL_|RECORDS_URL$|RECORDS_API_KEY$)/.test(name)) delete process.env[name]
  return process.env
}
