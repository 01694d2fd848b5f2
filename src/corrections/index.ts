// The rejects' round trip: written for a spreadsheet, and read back from it (docs/rejects.md).

export { rawRows } from './raw-rows.ts'
export {
  readCorrections,
  type SpreadsheetRow,
  type Corrections,
  type CorrectionsAccount,
  type CorrectionsFile,
  type CorrectionsOptions,
} from './read.ts'
export {
  BYTE_ORDER_MARK,
  rejectReason,
  createRejectsSheet,
  type RejectsSheet,
} from './rejects-sheet.ts'
