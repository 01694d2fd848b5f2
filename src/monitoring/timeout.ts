// Waits with a bound.

/** The result of `work`; null if it fails, or takes longer than `ms`. Never rejects. */
export async function withTimeout<Result>(
  work: Promise<Result>,
  ms: number,
): Promise<Result | null> {
  let timer: NodeJS.Timeout | undefined
  const tooLong = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), ms)
  })
  try {
    return await Promise.race([work.catch(() => null), tooLong])
  } finally {
    clearTimeout(timer)
  }
}
