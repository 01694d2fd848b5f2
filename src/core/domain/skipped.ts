// What is said of a run that did not begin, because what its sync is after did not end well.

/** `skipped: after companies` */
export const skippedText = (failed: readonly string[]): string =>
  `skipped: after ${failed.join(', ')}`
