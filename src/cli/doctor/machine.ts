// The machine: Node, the program that brings a Temporal server, and room on the disks.

import { existsSync, readFileSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import type { Config } from '../../../config/index.ts'
import { bytesText } from '../../core/format.ts'
import { stateDirOf } from '../../dev/parts.ts'
import { installedTemporalCli } from '../../dev/temporal-get.mjs'
import { warehouseOf } from '../../warehouses/index.ts'
import { temporaryProblem } from '../../warehouses/duckdb/temporary.ts'
import { machineNeeds } from '../../worker/machine.ts'
import { finding, fine, type DoctorFinding } from './findings.ts'

/** Major versions up to this one get no security fixes any more. */
const NODE_ENDED = 20

const up = import.meta.url.endsWith('.ts') ? '../../../' : '../../../../'

/** The oldest version that works, as package.json has it. */
const nodeMin = (): string => {
  const text = readFileSync(new URL(`${up}package.json`, import.meta.url), 'utf8')
  return (JSON.parse(text) as { engines: { node: string } }).engines.node.replace(/^>=/, '')
}

/** Whether a version is another one or newer, by its numbers. */
export function isAtLeast(version: string, min: string): boolean {
  const [have, need] = [version, min].map((text) => text.split('.').map(Number)) as [
    number[],
    number[],
  ]
  const at = need.findIndex((part, index) => (have[index] ?? 0) !== part)
  return at === -1 || (have[at] ?? 0) > need[at]!
}

export function nodeFinding(version: string = process.versions.node): DoctorFinding {
  const min = nodeMin()
  const take = 'Install Node 22 or 24: https://nodejs.org/en/download'
  if (!isAtLeast(version, min))
    return finding('failed', 'Node', `${version}; expected ${min} or newer`, take)
  if (Number(version.split('.')[0]) <= NODE_ENDED)
    return finding('warning', 'Node', `${version} gets no security fixes any more`, take)
  return fine('Node', `${version} (${min} or newer)`)
}

/** What a worker needs of this process; one that is started otherwise may have other limits. */
export function needFindings(needs = machineNeeds()): DoctorFinding[] {
  return needs.map(({ subject, seen, isMet, todo }) =>
    isMet ? fine(subject, seen) : finding('failed', subject, seen, todo),
  )
}

export function temporaryFinding(folder: string = tmpdir()): DoctorFinding {
  const subject = 'temporary files'
  const problem = temporaryProblem(folder)
  if (problem === null) return fine(subject, `${folder} can be written`)
  const [what, ...todo] = problem.split('; ')
  return finding('failed', subject, what!, todo.join('; '))
}

/** What `dev` and `--local` start. */
export async function temporalCliFinding(env: NodeJS.ProcessEnv): Promise<DoctorFinding> {
  const subject = 'Temporal CLI'
  const found = await installedTemporalCli({ env })
  if (found !== null) return fine(subject, `${found.version}, ${found.path}`)
  return finding(
    'warning',
    subject,
    'not on the PATH, and none in the cache: the first "dev" or "--local" gets it, which takes minutes where it is built',
    'Nothing, if a Temporal server of your own runs; else put it on the PATH before: https://docs.temporal.io/cli',
  )
}

const MIB = 1_024 ** 2
/** Below this a ledger soon cannot be written. */
export const DISK_FAILED = 100 * MIB
/** Below this a large import, a mirror or a backup may fill the disk. */
export const DISK_WARNING = 1_024 * MIB

/** Free room by disk; `config` null: of the folder alone. */
export async function diskFindings(
  configFile: string,
  config: Config | null,
): Promise<DoctorFinding[]> {
  const byDisk = new Map<number, { folder: string; names: string[] }>()
  for (const { name, path } of placesOf(configFile, config)) {
    const folder = existingFolder(path)
    const disk = statSync(folder).dev
    const known = byDisk.get(disk)
    if (known === undefined) byDisk.set(disk, { folder, names: [name] })
    else if (!known.names.includes(name)) known.names.push(name)
  }
  return await Promise.all(
    [...byDisk.values()].map(async ({ folder, names }) => {
      const { bavail, bsize, files, ffree } = await statfs(folder)
      return roomFinding(`disk of ${names.join(', ')}`, {
        folder,
        bytes: bavail * bsize,
        hasFiles: files === 0 || ffree > 0,
      })
    }),
  )
}

interface Room {
  readonly folder: string
  /** Free for this user. */
  readonly bytes: number
  /** Whether more files can be made; a disk may run out of them before it is full. */
  readonly hasFiles: boolean
}

export function roomFinding(subject: string, { folder, bytes, hasFiles }: Room): DoctorFinding {
  const text = `${bytesText(bytes)} free at ${folder}`
  const make = `Free some room on the disk of ${folder}, or move what is there: "ledger:" and "warehouses:" name files`
  if (!hasFiles) return finding('failed', subject, `${text}, but no more files fit on it`, make)
  if (bytes < DISK_FAILED)
    return finding('failed', subject, `${text}; a run would end as blocked: disk`, make)
  if (bytes < DISK_WARNING)
    return finding('warning', subject, `${text}; a large run may need more than that`, make)
  return fine(subject, text)
}

function placesOf(configFile: string, config: Config | null): { name: string; path: string }[] {
  // Queries of DuckDB that do not fit into memory, and rows of mirrors, go through it.
  const always = [{ name: 'temporary files', path: tmpdir() }]
  if (config === null) return [{ name: 'this folder', path: dirname(configFile) }, ...always]
  const { ledger, warehouses } = config
  const files = Object.entries(warehouses).flatMap(([name, place]) => {
    const file = warehouseOf(place).file(place)
    return file === null ? [] : [{ name: `warehouse ${name}`, path: file.path }]
  })
  const own =
    'sqlite' in ledger
      ? { name: 'the ledger', path: ledger.sqlite }
      : { name: '.records-sync', path: stateDirOf(configFile) }
  return [own, ...files, ...always]
}

/** The folder of a path, or of the nearest one above that is there. */
function existingFolder(path: string): string {
  let folder = path
  while (!existsSync(folder) || !statSync(folder).isDirectory()) folder = dirname(folder)
  return folder
}
