// Whether another process of this machine is running: what an ended one left behind can be removed.

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // It belongs to another user: it may not be signalled, and it is running.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
