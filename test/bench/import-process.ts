// One import, or one bare loop, in a process of its own, into a service of its own and a new ledger.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { BareJob } from './bare-run.ts'
import { contactsImport, startServiceProcess, WIDE_SCHEMA, type Service } from './import-parts.ts'
import type { Figures } from './mirror-figures.ts'
import type { Ended, Job } from './sync-run.ts'

const here = fileURLToPath(new URL('../../', import.meta.url))
const compiled = new URL('./compiled.mjs', import.meta.url).href

interface Surroundings {
  readonly latencyMs: number
  /** Whether the file has 19 columns. */
  readonly wide: boolean
}

interface Files {
  readonly csv: string
  /** Folder for what the process writes. */
  readonly dir: string
}

/** Runs a program with its job in a file, and reads the last line of what it prints. */
export async function runProgram(
  flags: readonly string[],
  program: string,
  job: object,
  place: string,
) {
  const file = join(place, 'job.json')
  writeFileSync(file, JSON.stringify(job))
  const child = spawn(process.execPath, ['--import', 'tsx', ...flags, program, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: here,
  })
  let last = ''
  createInterface(child.stdout!).on('line', (line) => {
    last = line
  })
  const [code] = (await once(child, 'close')) as [number]
  if (code !== 0) throw new Error(`${program} ended with ${code}`)
  return JSON.parse(last) as unknown
}

export async function withServiceProcess<T>(
  { latencyMs, wide }: Surroundings,
  { dir }: Files,
  use: (service: Service, place: string) => Promise<T>,
): Promise<T> {
  const place = mkdtempSync(join(dir, 'run-'))
  const schema = join(place, 'schema.json')
  writeFileSync(schema, JSON.stringify(WIDE_SCHEMA))
  const service = await startServiceProcess(latencyMs, wide ? ['--schema', schema] : [])
  try {
    return await use(service, place)
  } finally {
    service.child.kill('SIGTERM')
    rmSync(place, { recursive: true, force: true })
  }
}

/** One import as a checkout makes it; `root` ends with a slash, `flags` are Node's. */
export const runImport = (
  surroundings: Surroundings,
  files: Files,
  { root = here, flags = [] }: { root?: string; flags?: readonly string[] } = {},
): Promise<Ended> =>
  withServiceProcess(surroundings, files, async ({ url, key, child }, place) => {
    const sync = contactsImport(files.csv, surroundings.wide)
    const ledger = join(place, 'ledger.db')
    const servicePid = child.pid!
    const job: Job = { url, key, ledger, scope: null, sync, servicePid }
    const loader = ['--import', `${compiled}?root=${encodeURIComponent(root)}`]
    const program = join(root, 'test/bench/sync-run.ts')
    const ended = (await runProgram([...flags, ...loader], program, job, place)) as Ended
    if (ended.state !== 'complete') throw new Error(`the run is ${ended.state}: ${ended.message}`)
    return ended
  })

/** One bare loop over the narrow file. */
export const runBareLoop = (
  surroundings: Surroundings,
  files: Files,
  { rows, inFlight }: { rows: number; inFlight: number },
): Promise<Figures> =>
  withServiceProcess(surroundings, files, async ({ url, key }, place) => {
    const job: BareJob = { file: files.csv, url, key, inFlight, rows }
    const program = fileURLToPath(new URL('./bare-run.ts', import.meta.url))
    return (await runProgram([], program, job, place)) as Figures
  })
