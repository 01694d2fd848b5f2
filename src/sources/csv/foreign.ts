// Files that are no CSV, by their first bytes: what each is, and what to do with it. Promise kept here: a file that may be CSV is none of
// them, and none of them is read as CSV.

import { byteOrderMark, wideEncoding } from './bytes.ts'
import type { CsvFault } from './faults.ts'

const SAVE_AS = 'save the sheet as "CSV UTF-8"'
const EXPORT = 'export it as CSV'

type Foreign<Start> = readonly [start: Start, what: string, toDo: string]

const ZIP = 'PK\x03\x04'
/** Names within the zip of a workbook. */
const OF_WORKBOOK = /xl\/|\[Content_Types\]\.xml|mimetypeapplication\/vnd/
const WORKBOOK = ['a workbook, such as .xlsx or .ods', SAVE_AS] as const
const UNPACK = 'unpack it, or compress it with gzip'

/** By bytes, read as Latin-1. The first that fits counts. */
const BINARY: readonly Foreign<readonly string[]>[] = [
  [[ZIP, 'PK\x05\x06', 'PK\x07\x08'], 'a zip archive, or a workbook', `unpack it, or ${SAVE_AS}`],
  [
    [
      '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1',
      '\x09\x08\x10\0',
      '\x09\x08\x08\0',
      '\x09\x04\x06\0',
      '\x09\x02\x06\0',
      '\x09\0\x04\0',
    ],
    'an old workbook, such as .xls',
    SAVE_AS,
  ],
  [['%PDF-'], 'a PDF document', EXPORT],
  [['PAR1', 'PARE'], 'a Parquet file', 'read it by a query of DuckDB, or export it as CSV'],
  [['ORC\x08', 'ORC\x0a'], 'an ORC file', EXPORT],
  [['Obj\x01'], 'an Avro file', EXPORT],
  [['ARROW1'], 'an Arrow file', EXPORT],
  [['SQLite format 3\0'], 'an SQLite database', EXPORT],
  [['\x1f\x8b'], 'gzip inside gzip', 'unpack it once'],
  [['\x1f\x9d'], 'a file of compress (.Z)', UNPACK],
  [['BZh9', 'BZh6', 'BZh1'], 'a file of bzip2', UNPACK],
  [['\xfd7zXZ\0'], 'a file of xz', UNPACK],
  [['\x28\xb5\x2f\xfd'], 'a file of zstd', UNPACK],
  [['7z\xbc\xaf\x27\x1c'], 'a 7-Zip archive', 'unpack it'],
  [['Rar!\x1a\x07'], 'a RAR archive', 'unpack it'],
  [['\x89PNG\r', 'GIF87a', 'GIF89a', '\xff\xd8\xff'], 'a picture', EXPORT],
]
/** By text. A name of a column may begin with any of the marks alone. */
const TEXT: readonly Foreign<RegExp>[] = [
  [
    /^\s*(?:<!--[^]{0,2000}?-->\s*)?<(?:!doctype\s+html|html|head|body|table|script|meta)[\s>]/i,
    'an HTML page, such as that of a login',
    'download the file itself, or save the table as CSV',
  ],
  [/^\s*<\?xml\s/i, 'an XML file', EXPORT],
  [/^\s*\{\\rtf/, 'an RTF document', EXPORT],
  [/^\s*\{\s*"(?:[^"\\\n]|\\.)*"\s*:[^\n]*\}\s*\n\s*\{/, 'a file of JSON lines', EXPORT],
  [/^\s*\{\s*"(?:[^"\\\n]|\\.)*"\s*:/, 'a JSON file', EXPORT],
  [/^\s*\[\s*(?:\{\s*["}]|\[\s*["\]\d-]|"(?:[^"\\\n]|\\.)*"\s*[,\]]\s*\n?)/, 'a JSON file', EXPORT],
  [/^\s*\{\s*\}\s*$|^\s*\[\s*\]\s*$/, 'a JSON file', EXPORT],
]

const LOOKED_AT = 4_096

/** What a file is and what to do with it, if its first bytes are no CSV; else null. */
export function foreignFile(head: Buffer): { readonly what: string; readonly toDo: string } | null {
  const bytes = head.subarray(0, LOOKED_AT)
  const mark = byteOrderMark(bytes)
  const encoding = mark?.encoding ?? wideEncoding(bytes)
  const rest = bytes.subarray(mark?.bytes ?? 0)
  const text =
    encoding === null || encoding === 'utf-8'
      ? rest.toString('latin1')
      : new TextDecoder(encoding).decode(rest)
  const raw = bytes.toString('latin1')
  if (raw.startsWith(ZIP) && OF_WORKBOOK.test(raw)) return { what: WORKBOOK[0], toDo: WORKBOOK[1] }
  const found =
    BINARY.find(([starts]) => starts.some((start) => raw.startsWith(start))) ??
    TEXT.find(([start]) => start.test(text))
  return found === undefined ? null : { what: found[1], toDo: found[2] }
}

/** @throws SourceError csv_foreign */
export function requireCsv(head: Buffer, fault: CsvFault): void {
  const found = foreignFile(head)
  if (found === null) return
  throw fault('csv_foreign', `this is ${found.what}; expected CSV: ${found.toDo}`)
}
