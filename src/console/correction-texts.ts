// The words of the page on which rejects are corrected.

import { countText, formatNumber } from '../core/format.ts'

const rowsText = (rows: number): string => countText(rows, 'row')

export const CORRECTION_TEXT = {
  way: 'Correct them here',
  title: 'Correct rejects',
  hidden: 'Rows are corrected here only where the console shows values of rows.',
  inFiles: 'Correct them in files instead:',
  sendFiles: 'Send what you corrected:',
  impossible:
    'No row of this run can be corrected here: the run is not over, or it left no row over.',
  none: 'No row of this kind is left.',
  nothingLeft: 'No row of this run is left to be corrected.',
  noneYet: 'None so far; there are more rows to look through.',
  any: 'any kind',
  kind: 'Kind of error',
  show: 'Show',
  rows: 'Rows',
  lead: 'Type, or paste cells from a spreadsheet: they fill to the right and down from the cell that you paste into. Rows that you do not change stay as they are.',
  row: 'Row',
  line: (line: number) => `line ${formatNumber(line)}`,
  asIn: (run: number) => `as in run ${run}`,
  isKept: 'kept as corrected',
  cell: (column: string, line: number) => `${column}, line ${line}`,
  pasted: 'Cells pasted: #.',
  pastedOver: 'Cells that did not fit into the table: #.',
  broughtBack: 'What you typed before the login is back, and not kept yet. Cells: #.',
  isLong: 'This cell is too long for a page; correct it in the file.',
  keep: 'Check and keep these corrections',
  allColumns: 'Show all columns',
  addColumn: 'Another column',
  addsColumn: 'Show the column',
  next: 'More rows',
  nextNote: 'Keep your corrections before you go on.',
  keptHead: 'Kept, and not sent yet',
  kept: (rows: number, isMore: boolean) =>
    `${isMore ? 'More than ' : ''}${rowsText(rows)} ${rows === 1 && !isMore ? 'is' : 'are'} kept as corrected.`,
  overtaken: (rows: number) =>
    `${rowsText(rows)} that ${rows === 1 ? 'was' : 'were'} kept as corrected ${rows === 1 ? 'is' : 'are'} not sent: ${rows === 1 ? 'it was' : 'they were'} brought in since, by another retry or from the source.`,
  keptOf: (rows: number) =>
    `${rowsText(rows)} ${rows === 1 ? 'is' : 'are'} kept as corrected, and not sent yet`,
  seeKept: 'See the corrections that are kept',
  retry: (rows: number, isMore: boolean) =>
    isMore
      ? `Retry more than ${formatNumber(rows)} corrected rows`
      : `Retry ${formatNumber(rows)} corrected ${rows === 1 ? 'row' : 'rows'}`,
  retryMeaning: (run: number) =>
    `Starts a run that sends these rows of run ${run} as they were corrected, and no others.`,
  sheet: 'In a spreadsheet',
  sheetLead:
    'The file has the columns of the source, and what is wrong with each row. Save it as CSV UTF-8, and give it back here.',
  download: 'Download the rows as CSV',
  downloadKind: 'Download the rows of this kind as CSV',
  file: 'The corrected file',
  upload: 'Check and keep the rows of the file',
  saved: (rows: number) =>
    `${rowsText(rows)} ${rows === 1 ? 'was' : 'were'} checked and kept. Nothing is sent yet.`,
  unchanged: 'No cell was changed, so nothing was kept.',
  wrong: (cells: number) =>
    `Nothing was kept: ${countText(cells, 'cell')} ${cells === 1 ? 'is' : 'are'} not accepted. Each says what was expected.`,
  notLeft: (row: number) =>
    `Row ${row} is not left: it was accepted, or mended since. What you typed for it was not kept.`,
  newer: (run: number) =>
    `Run ${run} has sent the row again since the page was made, and it is shown as that run had it.`,
  correctedSince: (row: number) =>
    `Row ${row} was corrected since the page was made, and is shown as it is kept now. What you typed for it was not kept.`,
  fileToo:
    'Nothing was kept: a file was chosen too, which this button does not read. Take it out, or give it with its own button.',
  typedToo: (rows: number) =>
    `Nothing of the file was kept: cells of ${rowsText(rows)} were changed on the page too. Keep these first, and then give the file; or load the page again, and give the file alone.`,
  damaged:
    'This is what a spreadsheet leaves of a value, not the value. Expected the value itself.',
  noFile: 'No file was given; expected a CSV file with the rejects of this run.',
  noRows: 'There is no row in the file; expected rows that the download has.',
  fileRefused: 'Nothing of the file was kept:',
  busy: 'Another file is being read. Nothing of yours was kept; send it again in a few seconds.',
  tooLarge: (bytes: number) =>
    `That is more than ${formatNumber(bytes / 1_048_576)} MiB at once. Keep fewer cells at a time, or send a file of this size by the command.`,
  counts: {
    title: 'What is sent',
    rows: 'Rows',
    changedRows: 'With a changed cell',
    unchanged: 'Without a change, sent as they are',
    column: 'Column',
    cells: 'Cells changed',
    restored: 'Cells that only the spreadsheet changed, taken as they were',
    missing: 'Columns that the file lacks, taken as they were',
    ignored: 'Columns of the file that are not read',
    counted: 'Counted in the first 20,000 rows.',
  },
  gone: 'No row of this correction is left: its rows were sent, or mended since.',
} as const
