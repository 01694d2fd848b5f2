// What the first bytes of a file say against the settings that it is read with, and what to write instead. Promise kept here: only
// what is certain is said, and the file is read as it is configured all the same (decision 80).

import { isAscii } from 'node:buffer'
import { LinesAbove } from './lines.ts'
import type { CsvSettings } from './settings.ts'
import { sniffCsv } from './sniff.ts'

type Dialect = Pick<CsvSettings, 'delimiter' | 'encoding' | 'quote'> &
  Partial<Pick<CsvSettings, 'header'>>

/** Errors that a wrong delimiter, or a wrong quote, leads to. */
const OF_DELIMITER = [
  'csv_quote',
  'csv_quote_unclosed',
  'csv_ragged_row',
  'csv_row_too_long',
  'csv_header',
  'csv_footer',
]
const OF_TEXT = ['csv_encoding', 'csv_nul']

/** Errors that quotes lead to which another setting reads. */
const OF_QUOTES = ['csv_quote', 'csv_quote_unclosed']

/** The setting that reads the quotes of a file, where the usual ones do not; null: none is seen. */
export function quotesSetting(
  head: Buffer,
  { delimiter = ',', quote = '"', escape, skip_space: skips = false }: Partial<CsvSettings>,
): Pick<CsvSettings, 'escape' | 'skip_space'> | null {
  if (quote === null) return null
  const text = head.toString('latin1')
  if (escape === undefined && text.includes(`\\${quote}`)) return { escape: '\\' }
  const [mark, limit] = [quote, delimiter].map((one) => `\\u${hexOf(one)}`)
  const isSpaced = new RegExp(`${limit}[ \\t]+${mark}|${mark}[ \\t]+${limit}`).test(text)
  return isSpaced && !skips && delimiter !== '\t' ? { skip_space: true } : null
}

/** `; …`: that setting, if an error of this code is about quotes; else nothing. */
export function quotesHint(code: string, head: Buffer, settings: Partial<CsvSettings>): string {
  const found = OF_QUOTES.includes(code) ? quotesSetting(head, settings) : null
  if (found === null) return ''
  return found.escape === undefined
    ? '; `skip_space: true` under `from` reads quotes with space between them and the delimiter'
    : '; `escape: "\\\\"` under `from` reads quotes with a backslash before them'
}

const hexOf = (character: string): string => character.charCodeAt(0).toString(16).padStart(4, '0')

/** `; ";" looks like the delimiter: …`, if an error of this code may come from a wrong delimiter; else nothing. */
export function delimiterHint(code: string, head: Buffer, settings: Dialect): string {
  if (![...OF_DELIMITER, ...OF_TEXT].includes(code)) return ''
  const { header } = settings
  const lines = new LinesAbove(typeof header === 'number' ? header - 1 : 0)
  const { delimiter, unsure } = sniffCsv(lines.skip(head), settings.quote)
  if (unsure.includes('delimiter') || delimiter === (settings.delimiter ?? ',')) return ''
  const shown = JSON.stringify(delimiter)
  return `; ${shown} looks like the delimiter: write \`delimiter: ${shown}\` under \`from\``
}

/**
 * What a person should know of the encoding before the rows are used, one line each.
 * @param encoding the canonical name of the one that is configured
 */
export function encodingWarnings(head: Buffer, encoding: string | undefined): readonly string[] {
  if (encoding === undefined || encoding.startsWith('utf-')) return []
  const { encoding: found, unsure } = sniffCsv(head)
  const isUtf8 = found === 'utf-8' && !unsure.includes('encoding') && !isAscii(head)
  return isUtf8
    ? [
        `the file looks like utf-8 and is read as ${encoding}, as configured: names with other letters than those of English would be damaged; leave out \`encoding\``,
      ]
    : []
}
