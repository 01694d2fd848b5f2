// While the parts of a local run start, nothing of the run is begun: Ctrl-C ends the process at once, and says so. The Temporal server
// of a process that is gone ends by itself.

import { EXIT, type CommandContext } from './context.ts'
import { onInterrupt } from './interrupt.ts'

/** Waits for `start`; @param again the command line, for one who stops it meanwhile */
export async function untilStarted<Parts>(
  { terminal }: Pick<CommandContext, 'terminal'>,
  again: string,
  start: () => Promise<Parts>,
  leave: (code: number) => void = (code) => process.exit(code),
): Promise<Parts> {
  const stop = onInterrupt(['SIGINT', 'SIGTERM'], () => {
    terminal.endLive()
    terminal.err(`Stopped while its parts started; no run was begun. Again: ${again}`)
    leave(EXIT.unknown)
  })
  try {
    return await start()
  } finally {
    stop()
  }
}
