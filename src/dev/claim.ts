// The right to run parts for a folder: one process at a time has it, and `dev.json` says what it runs there.

import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { SyncError } from '../core/errors.ts'
import { systemClock } from '../core/ports.ts'
import { acquireFileLock } from '../sqlite/file-lock.ts'
import { claimError, lockFile, partsFile, readParts, realPathOf, type DevParts } from './parts.ts'

/** The right to run parts for a folder. */
export interface Claim {
  /** What a process of this configuration that was killed left in the file; null if none did. */
  readonly left: DevParts | null
  write(parts: Omit<DevParts, 'pid' | 'host' | 'config'>): void
  release(): void
}

const claimTries = 20
const claimAgainMs = 50

/** @throws SyncError `parts_running` if another process runs parts for the folder */
export async function claimParts(configFile: string, stateDir: string): Promise<Claim> {
  for (let tries = 1; ; tries++) {
    const release = acquireFileLock(lockFile(stateDir))
    if (release !== null) return claim(configFile, stateDir, release)
    // A command that only looks holds it for an instant.
    if (tries === claimTries) throw alreadyRunning(stateDir)
    await systemClock.sleep(claimAgainMs)
  }
}

function claim(configFile: string, stateDir: string, unlock: () => void): Claim {
  const file = partsFile(stateDir)
  const own = { pid: process.pid, host: hostname(), config: realPathOf(configFile) ?? configFile }
  const before = readParts(stateDir)
  // A copied folder has the file of a process that is well.
  const isOwn = before?.host === own.host && before.config === own.config
  return {
    left: isOwn ? before : null,
    write(parts) {
      const draft = `${file}.new`
      writeFileSync(draft, `${JSON.stringify({ ...own, ...parts }, null, 2)}\n`, { mode: 0o600 })
      renameSync(draft, file)
    },
    release() {
      rmSync(file, { force: true })
      unlock()
    },
  }
}

function alreadyRunning(stateDir: string): SyncError {
  const parts = readParts(stateDir)
  if (parts !== null) return claimError(parts)
  return new SyncError(
    'parts_running',
    `Another process starts or stops the parts of ${dirname(stateDir)}; wait for it, and try again`,
  )
}
