// What a process that runs a worker needs of its machine: files that may be open, and room for its heap. Promise kept here: where
// there is too little, it ends before it works, with what it has, what it needs, and the command that sets it.

import { readFileSync } from 'node:fs'
import { getHeapStatistics } from 'node:v8'
import { SyncError } from '../core/errors.ts'

/** Measured with 20,000 rows and a Temporal server of its own: 192 were enough, 128 were not. */
export const OPEN_FILES_MIN = 256
/** Measured with 20,000 rows, MB: 144 were enough; with 112 it took four times as long, with 96 it ended. */
export const HEAP_MIN_MB = 128

const MB = 1_024 ** 2

export interface MachineNeed {
  readonly subject: 'open files' | 'heap'
  /** What the process has, such as `1,024 (256 or more)`. */
  readonly seen: string
  readonly isMet: boolean
  /** The command that sets it. */
  readonly todo: string
}

/** How many files this process may open, its sockets too; null: no limit, or not known. */
export function openFilesLimit(): number | null {
  try {
    const [, soft] =
      /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? null : Number(soft)
  } catch {
    return limitOfReport()
  }
}

/** Not Linux, or no file can be opened any more. */
function limitOfReport(): number | null {
  if (process.platform === 'win32') return null
  const report = process.report as typeof process.report & { excludeNetwork?: boolean }
  // Else it asks the DNS for the name of each address.
  report.excludeNetwork = true
  const { userLimits } = report.getReport() as {
    userLimits?: { open_files?: { soft?: unknown } }
  }
  const soft = userLimits?.open_files?.soft
  return typeof soft === 'number' ? soft : null
}

export function machineNeeds(
  files: number | null = openFilesLimit(),
  heapMb: number = Math.round(getHeapStatistics().heap_size_limit / MB),
): readonly MachineNeed[] {
  return [
    {
      subject: 'open files',
      seen: `${files ?? 'as many as it likes'} (${OPEN_FILES_MIN} or more)`,
      isMet: files === null || files >= OPEN_FILES_MIN,
      todo: 'Raise the limit in the shell or service that starts it: ulimit -n 4096; systemd: LimitNOFILE=4096; docker: --ulimit nofile=4096',
    },
    {
      subject: 'heap',
      seen: `${heapMb} MB (${HEAP_MIN_MB} MB or more)`,
      isMet: heapMb >= HEAP_MIN_MB,
      todo: 'Let it grow: export NODE_OPTIONS=--max-old-space-size=512; a container may need more memory',
    },
  ]
}

/** @throws SyncError `machine_too_small` */
export function requireMachine(needs: readonly MachineNeed[] = machineNeeds()): void {
  const unmet = needs.filter(({ isMet }) => !isMet)
  if (unmet.length === 0) return
  const said = unmet.map(({ subject, seen, todo }) => `${subject}: ${seen}. ${todo}`)
  throw new SyncError(
    'machine_too_small',
    `This process has too little for a worker. ${said.join('. ')}`,
  )
}

/** A package that is not found, because no file can be opened to look for it. */
export function filesInDisguise(error: unknown, limit?: number | null): SyncError | null {
  const isUnfound =
    error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND'
  if (!isUnfound) return null
  const files = machineNeeds(limit).find(({ subject }) => subject === 'open files')!
  if (files.isMet) return null
  return new SyncError(
    'too_many_open_files',
    `This process may open no more files: its limit is ${files.seen}. ${files.todo}`,
  )
}
