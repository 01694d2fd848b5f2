// The rejects' round trip: written for a spreadsheet, and read back from it (docs/rejects.md).

export { exampleCell } from './accepted-values.ts'
export { cellText, csvCell } from './cells.ts'
export { correctedCell } from './corrected-cell.ts'
export { leftPages } from './left-pages.ts'
export { rawRows } from './raw-rows.ts'
export { readCorrections, type CorrectionsAccount, type SpreadsheetRow } from './read.ts'
export {
  BYTE_ORDER_MARK,
  rejectDetail,
  rejectReason,
  rejectsDelimiter,
  createRejectsSheet,
} from './rejects-sheet.ts'
export { openTable, type SpreadsheetFile } from './spreadsheet-table.ts'
