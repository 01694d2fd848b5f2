// What a person is asked about the file as a whole: whether its first line names the columns, its encoding, and whether its last row is
// one of totals. Without a person the doubts stay; a first line that looks like data ends `init`, and no cell of it is shown or written.

import { resolve } from 'node:path'
import { ConfigError } from '../../core/errors.ts'
import { headerDoubt, type Target } from '../../import/index.ts'
import { askUntil, type Asker } from '../shared/questions.ts'
import { readCsvSample, type CsvSample } from './init-sample.ts'

interface Asking {
  readonly asker: Asker | null
  say(line: string): void
}

/** @throws ConfigError if the first line looks like data, and nobody says that it is not */
export async function settledSample(
  file: string,
  first: CsvSample,
  targets: readonly Target[],
  { asker, say }: Asking,
): Promise<CsvSample> {
  const doubt = headerDoubt(first, targets)
  if (asker === null) {
    if (doubt === null) return first
    throw new ConfigError(
      `${file}:1`,
      `${doubt}. Nothing was written. Expected a first line that names the columns: add one; or write the sync by hand, with \`header: none\` under \`from\`, which calls the columns #1, #2 and so on`,
    )
  }
  const header = doubt !== null && !(await askHeader(asker, say, doubt)) ? NAMELESS : {}
  const encoding =
    first.waiting?.dialect.encoding === undefined || first.dialect.encoding !== undefined
      ? {}
      : await askEncoding(asker, say, first.waiting)
  const chosen = { ...header, ...encoding }
  return Object.keys(chosen).length === 0 ? first : await readCsvSample(resolve(file), chosen)
}

const NAMELESS = { header: 'none' } as const

async function askHeader(asker: Asker, say: Asking['say'], doubt: string): Promise<boolean> {
  say(`${doubt[0]!.toUpperCase()}${doubt.slice(1)}`)
  return await askUntil(asker, say, ['Does it name the columns? yes or no'], (answer) =>
    /^(?:y|yes|n|no)$/i.test(answer)
      ? { value: /^y/i.test(answer) }
      : { message: 'expected yes or no' },
  )
}

const askEncoding = (
  asker: Asker,
  say: Asking['say'],
  { dialect, reason }: NonNullable<CsvSample['waiting']>,
): Promise<{ readonly encoding?: string }> => {
  say(`Its encoding is not certain: ${reason}`)
  return askUntil<{ readonly encoding?: string }>(
    asker,
    say,
    [`Encoding, such as ${dialect.encoding}; Enter to leave it open`],
    (answer) => {
      if (answer === '') return { value: {} }
      try {
        return { value: { encoding: new TextDecoder(answer).encoding } }
      } catch {
        return { message: 'expected an encoding such as windows-1251 or shift_jis' }
      }
    },
  )
}
