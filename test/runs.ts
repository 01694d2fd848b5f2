// How many cases a property test makes up. Every run makes up others; `npm run test:soak` has the full number.

export const runs = (full: number): number =>
  process.env['RECORDS_SYNC_FULL_RUNS'] === undefined ? Math.ceil(full / 4) : full
