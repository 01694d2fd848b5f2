// What to do if a process, or a machine, may open no more files.

import { SyncError } from './errors.ts'

const PROCESS = 'EMFILE'
const MACHINE = 'ENFILE'

/** How deep a chain of causes is searched. */
const CAUSES_MAX = 5

/** The error to report in place of one that says that no more files can be opened; null for every other one. */
export function tooManyOpenFiles(error: unknown): SyncError | null {
  let cause = error
  for (let depth = 0; depth < CAUSES_MAX && cause instanceof Error; depth++) {
    if (cause instanceof SyncError && cause.code === CODE) return cause
    const code = 'code' in cause ? cause.code : null
    if (code === PROCESS)
      return told(
        'This process may open no more files: raise its limit in the shell or service that starts it, and start it again (ulimit -n 4096; systemd: LimitNOFILE=4096)',
      )
    if (code === MACHINE)
      return told(
        'This machine may open no more files: end what holds many of them, or raise its limit (Linux: sysctl fs.file-max)',
      )
    cause = cause instanceof AggregateError ? cause.errors.at(-1) : cause.cause
  }
  return null
}

const CODE = 'too_many_open_files'
const told = (message: string) => new SyncError(CODE, message)
