import { drawPlan } from './search/plan.ts'
import { play } from './search/play.ts'
const first = Number(process.argv[2] ?? 1), n = Number(process.argv[3] ?? 1)
for (let seed = first; seed < first + n; seed++) {
  const played = await play(drawPlan(seed))
  console.log(seed, played.violations, JSON.stringify(played.figures))
  if (n === 1) console.log(played.story)
}
process.exit(0)
