// `npm run bench`: every benchmark, as ratios within this run. `npm run bench -- --quick` takes a tenth of the rows.

import { benchImport } from './import.ts'

const quick = process.argv.includes('--quick')
await benchImport(
  quick ? { rows: 20_000, memoryRows: [] } : { rows: 200_000, memoryRows: [100_000, 1_000_000] },
)
