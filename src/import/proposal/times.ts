// Times as files write them: the format of their days, and the zone, which only a person knows where no cell names it.

import type { ColumnFacts } from './columns.ts'
import { bestFormats, questionOfDays, settingsOfFormat } from './dates.ts'
import { FITS_MIN, type CellReading, type Hints, type Trial } from './reading.ts'

/** Stands in the line that waits. */
const SOME_ZONE = 'UTC'

export function timeReading(facts: ColumnFacts, trial: Trial, hints: Hints): CellReading {
  const withZone = bestFormats(trial, hints)
  if (withZone.fits >= FITS_MIN) return reading(withZone, {}, 'times with their zone')
  const local = bestFormats((settings) => trial({ ...settings, zone: SOME_ZONE }), hints)
  if (local.fits < FITS_MIN)
    return {
      settings: {},
      fits: local.fits,
      what: '',
      problem:
        bestFormats((settings) => trial({ ...settings, type: 'date' }), hints).fits >= FITS_MIN
          ? 'takes times, and the cells have days alone'
          : 'takes times, and the cells have no form that is known',
    }
  const isUtc = /(?:^|[^\p{L}])(?:UTC|GMT)(?:$|[^\p{L}])/iu.test(facts.name)
  if (isUtc) return reading(local, { zone: SOME_ZONE }, 'times of UTC, as the name says')
  const found = reading(local, { zone: SOME_ZONE }, 'times')
  const which = 'the times have no zone'
  const hint = 'write theirs, such as Europe/Berlin, where it says UTC'
  return {
    ...found,
    question: found.question
      ? { ...found.question, text: `${found.question.text}, and ${which}`, hint }
      : { about: 'zone', text: which, hint, answers: [] },
  }
}

function reading(
  { formats, fits }: ReturnType<typeof bestFormats>,
  settings: { readonly zone?: string },
  what: string,
): CellReading {
  const [first] = formats
  const name = first!.format === undefined ? '' : `, days as ${first!.format}`
  return {
    settings: { ...settingsOfFormat(first!), ...settings },
    fits,
    what: what + name,
    ...questionOfDays(formats, settings),
  }
}
