// `npm run bench`: every benchmark, as ratios within this run. `-- --quick` takes a tenth of the rows; `-- import`,
// `-- mirror`, `-- reconcile`, `-- service` or `-- pacing` runs one of them, and `-- mirror duckdb` a part of it. `-- pacing-real` runs only
// when it is asked for: it takes an hour of waiting. So do `-- console`, `-- profile`, `-- ledger`, `-- memory`, `-- images` and
// `-- workers`, which measure parts, and `-- scale` and `-- fleet`, which show what grows.

import { benchConsole } from './console.ts'
import { benchFleet } from './fleet.ts'
import { benchImages } from './images.ts'
import { benchImport } from './import.ts'
import { benchImportSpeed } from './import-speed.ts'
import { benchLedger } from './ledger.ts'
import { benchMemory } from './memory.ts'
import { benchMirror } from './mirror.ts'
import { benchPacingReal } from './pacing/real.ts'
import { benchPacing } from './pacing/table.ts'
import { benchProfile } from './profile.ts'
import { benchReconcile } from './reconcile.ts'
import { benchScale } from './scale.ts'
import { benchService } from './service.ts'
import { benchWorkers } from './workers.ts'

const [, , ...words] = process.argv
const quick = words.includes('--quick')
const against = words.includes('--against') ? (words[words.indexOf('--against') + 1] ?? null) : null
const chosen = words.filter((word) => !word.startsWith('--'))
const wants = (name: string) => chosen.length === 0 || chosen.includes(name)

if (wants('service'))
  await benchService({
    ...(quick ? { seconds: 1, large: 100_000 } : { seconds: 4, large: 1_000_000 }),
    words: chosen,
  })
// `import speed` is a part of it, `import worker` the other one.
if (wants('import')) {
  if (!chosen.includes('worker'))
    await benchImportSpeed({
      ...(quick ? { rows: 20_000, rounds: 1 } : { rows: 100_000, rounds: 5 }),
      against,
    })
  if (!chosen.includes('speed'))
    await benchImport(
      quick
        ? { rows: 20_000, memoryRows: [] }
        : { rows: 200_000, memoryRows: [100_000, 1_000_000] },
    )
}
if (wants('mirror'))
  await benchMirror({
    ...(quick
      ? { rows: 100_000, rounds: 1, sizes: [20_000, 100_000] }
      : { rows: 300_000, rounds: 5, sizes: [100_000, 1_000_000, 3_000_000] }),
    words: chosen,
  })
if (wants('reconcile'))
  await benchReconcile({
    ...(quick ? { records: 100_000, rows: 20_000 } : { records: 1_000_000, rows: 200_000 }),
    words: chosen,
  })
// `console pages` is a part of it, `console followers` the other one.
if (chosen.includes('console'))
  await benchConsole({
    ...(quick
      ? { runs: 100, items: 100_000, followed: { rows: 20_000, pairs: 2 } }
      : { runs: 1_000, items: 10_000_000, followed: { rows: 100_000, pairs: 8 } }),
    words: chosen,
  })
if (wants('pacing')) await benchPacing({ quick })
if (chosen.includes('pacing-real')) await benchPacingReal({ minutes: quick ? 1 : 3, words: chosen })
if (chosen.includes('profile'))
  await benchProfile({
    ...(quick ? { rows: 20_000, rounds: 1 } : { rows: 100_000, rounds: 5 }),
    wide: words.includes('--wide'),
    detail: words.includes('--detail'),
    latencyMs: 0,
    against,
  })
if (chosen.includes('ledger'))
  await benchLedger({
    ...(quick ? { rows: 10_000, rounds: 1 } : { rows: 60_000, rounds: 5 }),
    words: chosen,
    detail: words.includes('--detail'),
  })
if (chosen[0] === 'images')
  await benchImages({
    ...(quick ? { rows: 20_000, rounds: 1 } : { rows: 100_000, rounds: 3 }),
    words: chosen,
  })
if (chosen.includes('workers'))
  await benchWorkers({
    ...(quick ? { rows: 16_000, rounds: 1 } : { rows: 40_000, rounds: 5 }),
    words: chosen,
  })
if (chosen.includes('fleet'))
  await benchFleet(
    quick
      ? { syncs: 40, orgs: 8, workers: 2, rows: 200, limit: 600, scheduledMinutes: 1.2 }
      : { syncs: 200, orgs: 40, workers: 4, rows: 500, limit: 600, scheduledMinutes: 3 },
  )
// `mirror memory` and `service scale` are parts of others.
if (chosen[0] === 'memory')
  await benchMemory(quick ? { rows: 20_000, rounds: 1 } : { rows: 100_000, rounds: 5 })
if (chosen[0] === 'scale')
  await benchScale({
    ...(quick ? { rows: 500_000, step: 50_000 } : { rows: 10_000_000, step: 1_000_000 }),
    random: chosen.includes('random'),
  })
