// Whether another process of this machine is there: what one that is gone left behind can be removed.

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Of another user: it may not be asked, and it is there.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
