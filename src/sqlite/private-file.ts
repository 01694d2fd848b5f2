// A file that only its owner may read, whatever the umask: files that SQLite makes next to it get its permissions.

import { closeSync, constants, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'

/** Creates the file, empty, and the folders that it lacks; what exists stays unchanged. @throws of the file system */
export function makePrivate(path: string): void {
  if (path === ':memory:') return
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  try {
    closeSync(openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
