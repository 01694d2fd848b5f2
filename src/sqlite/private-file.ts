// A file that its owner alone may read, whatever the umask: what SQLite makes beside it has its permissions.

import { closeSync, constants, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'

/** Makes the file, empty, and the folders that it lacks; what is there stays as it is. @throws of the file system */
export function makePrivate(path: string): void {
  if (path === ':memory:') return
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  try {
    closeSync(openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
