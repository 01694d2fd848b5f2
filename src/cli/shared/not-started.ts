// A run that the Temporal server did not take: in its own words, with the room on the disk of its file, which is the usual reason.

import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { SyncError } from '../../core/errors.ts'
import { bytesText } from '../../core/format.ts'
import type { CommandContext } from './context.ts'
import { innermostMessage } from './follow.ts'
import { safeText } from './terminal.ts'

export function notStarted(
  { configFile, hint }: Pick<CommandContext, 'configFile' | 'hint'>,
  error: unknown,
): SyncError {
  if (error instanceof SyncError) return error
  const folder = dirname(configFile)
  const why = safeText(innermostMessage(error), 300)
  return new SyncError(
    'not_started',
    `The Temporal server did not take the run (${why}); nothing was sent. One that "records-sync dev" or --local starts keeps its file in .records-sync, and cannot write it on a full disk: ${roomText(folder)}free at ${folder}. ${hint('doctor')} says more`,
  )
}

function roomText(folder: string): string {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return `${bytesText(bavail * bsize)} `
  } catch {
    return ''
  }
}
