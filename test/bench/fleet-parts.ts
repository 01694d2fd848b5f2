// What a fleet is made of: a configuration of many syncs and orgs, its files, a service process, and workers that can be asked
// what they cost.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../src/dev/ports.ts'
import { main } from './import-parts.ts'

const compiled = new URL('./compiled.mjs', import.meta.url).href
const serviceFile = fileURLToPath(new URL('./fleet-service.ts', import.meta.url))

export interface Fleet {
  readonly syncs: number
  readonly orgs: number
  readonly workers: number
  /** Rows of a sync. */
  readonly rows: number
  /** Requests a minute that an org may make. */
  readonly limit: number
}

export const nameOf = (sync: number): string => `sync_${String(sync).padStart(4, '0')}`
const connectionOf = (org: number): string => `org_${String(org).padStart(4, '0')}`

/** A folder with the configuration, the keys and a CSV file for each sync. Returns the configuration's path. */
export function writeProject(
  dir: string,
  { syncs, orgs, rows }: Fleet,
  { url, keys }: { readonly url: string; readonly keys: readonly string[] },
): string {
  mkdirSync(join(dir, 'rows'))
  const connections: string[] = []
  for (let org = 1; org <= orgs; org++) {
    writeFileSync(join(dir, connectionOf(org)), keys[org - 1]!, { mode: 0o600 })
    connections.push(
      `  ${connectionOf(org)}: { service: "${url}", key: { file: ./${connectionOf(org)} } }`,
    )
  }
  const imports: string[] = []
  for (let sync = 1; sync <= syncs; sync++) {
    const name = nameOf(sync)
    const lines = Array.from({ length: rows }, (_, row) => {
      const id = `${name}-${row}`
      return `${id},First ${row},Last,Engineer,${id}@example.com,${row % 100}`
    })
    writeFileSync(
      join(dir, 'rows', `${name}.csv`),
      `id,first_name,last_name,job_title,email,score\n${lines.join('\n')}\n`,
    )
    imports.push(`  ${name}:
    import:
      from: { csv: ./rows/${name}.csv }
      to: ${connectionOf(((sync - 1) % orgs) + 1)}
      object_type: svc_contact
      matching_property: svc_external_id
      properties: { svc_external_id: id, svc_first_name: first_name, svc_last_name: last_name, svc_job_title: job_title, svc_email: email, svc_score: score }
    schedule: every minute`)
  }
  const file = join(dir, 'records-sync.yaml')
  writeFileSync(
    file,
    `ledger: { postgres: "\${LEDGER_URL}" }
worker: { listen: "127.0.0.1:\${METRICS_PORT:-9464}" }
connections:
${connections.join('\n')}
syncs:
${imports.join('\n')}
`,
  )
  return file
}

export interface FleetService {
  readonly url: string
  readonly keys: readonly string[]
  readonly child: ChildProcess
}

export async function startFleetService({ orgs, limit }: Fleet): Promise<FleetService> {
  const loaders = ['--import', 'tsx', '--import', compiled]
  const child = spawn(process.execPath, [...loaders, serviceFile, String(orgs), String(limit)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [chunk] = (await once(child.stdout!, 'data')) as [Buffer]
  return { ...(JSON.parse(chunk.toString()) as { url: string; keys: string[] }), child }
}

export interface FleetWorker {
  readonly child: ChildProcess
  readonly metricsUrl: string
  /** Lines of its log above `info`, by message. */
  readonly complaints: Map<string, number>
}

const WARN = 40

/** One worker process, which polls when this returns. */
export async function startFleetWorker(
  configFile: string,
  env: Readonly<Record<string, string>>,
): Promise<FleetWorker> {
  const port = await freePort()
  const child = spawn(process.execPath, [main, '--config', configFile, 'worker'], {
    env: { ...env, METRICS_PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const complaints = new Map<string, number>()
  const started = new Promise<void>((resolve, reject) => {
    createInterface(child.stderr!).on('line', (line) => {
      let entry: { event?: string; level?: number | string; what?: string; text?: string }
      try {
        entry = JSON.parse(line) as typeof entry
      } catch {
        entry = { level: WARN, event: line.slice(0, 120) }
      }
      if (entry.event === 'worker_started') resolve()
      const isComplaint =
        typeof entry.level === 'number' ? entry.level >= WARN : entry.level !== 'info'
      if (!isComplaint) return
      const what = [entry.event, entry.what, entry.text?.slice(0, 80)].filter(Boolean).join(' ')
      complaints.set(what, (complaints.get(what) ?? 0) + 1)
    })
    child.once('exit', (code) => reject(new Error(`a worker ended with ${code}`)))
  })
  await started
  return { child, metricsUrl: `http://127.0.0.1:${port}/metrics`, complaints }
}

/** The samples of a page of metrics: by name, summed over what they are labelled with but for `label`. */
export async function readMetrics(url: string): Promise<(name: string, label?: string) => number> {
  const page = await (await fetch(url)).text()
  const samples = [...page.matchAll(/^([a-z_]+)(?:\{(.*)\})? (\S+)$/gm)]
  return (name, label = '') => {
    let sum = 0
    for (const [, found, labels = '', value] of samples)
      if (found === name && labels.includes(label)) sum += Number(value)
    return sum
  }
}

const statusOf = (pid: number, field: string): number => {
  try {
    const found = new RegExp(`${field}:\\s+(\\d+)`).exec(
      readFileSync(`/proc/${pid}/status`, 'utf8'),
    )
    return Math.round(Number(found?.[1] ?? 0) / 1_024)
  } catch {
    // It has just ended.
    return 0
  }
}
export const peakMbOf = (pid: number): number => statusOf(pid, 'VmHWM')
export const restingMbOf = (pid: number): number => statusOf(pid, 'VmRSS')

/** Processor seconds that the whole machine has worked so far. */
export function machineSeconds(): number {
  const [user, nice, system, , , irq, softirq] = /^cpu +(.*)$/m
    .exec(readFileSync('/proc/stat', 'utf8'))![1]!
    .split(' ')
    .map(Number)
  return (user! + nice! + system! + irq! + softirq!) / 100
}

/** Memory of all processes whose parent is one process, what they share counted once. */
export function sharedMbOf(parent: number): number {
  let kb = 0
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const ppid = /PPid:\s+(\d+)/.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1]
      if (Number(ppid) !== parent && Number(name) !== parent) continue
      kb += Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${name}/smaps_rollup`, 'utf8'))?.[1])
    } catch {
      // It has just ended.
    }
  }
  return Math.round(kb / 1_024)
}

/** The process on this machine that was started with these words. */
export function processWith(...words: readonly string[]): number {
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0')
      if (words.every((word) => command.includes(word)) && command[0] !== 'sh') return Number(name)
    } catch {
      // It has just ended.
    }
  }
  throw new Error(`no process with ${words.join(' ')}`)
}
