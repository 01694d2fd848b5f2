// The bare loop, alone in a process: `bare-run.ts <file of its options>`.

import { readFileSync } from 'node:fs'
import { COLUMNS } from './import-parts.ts'
import { bareLoop } from './bare-loop.ts'
import { startFigures } from './mirror-figures.ts'

export interface BareJob {
  readonly file: string
  readonly url: string
  readonly key: string
  readonly inFlight: number
  readonly rows: number
}

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as BareJob
const figures = startFigures()
await bareLoop({ ...job, properties: Object.keys(COLUMNS), numbers: new Set(['svc_score']) })
process.stdout.write(`${JSON.stringify(figures(job.rows))}\n`)
