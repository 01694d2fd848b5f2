// The first bytes of a CSV file, for what guesses how it is to be read.

import { csvFaults } from './faults.ts'
import { requireCsv } from './foreign.ts'
import { openFile } from './file.ts'
import { SNIFFED_BYTES_MAX } from './sniff.ts'

/**
 * The first bytes of the text, unzipped if the file is gzip: as many as `sniffCsv` looks at, fewer if the file is shorter.
 * @throws SourceError csv_missing, csv_not_a_file, csv_unreadable, csv_gzip, csv_foreign
 */
export async function readHead(path: string): Promise<Buffer> {
  const fault = csvFaults(path)
  const file = await openFile(path, fault)
  try {
    const pieces: Buffer[] = []
    let bytes = 0
    for await (const piece of file.pieces()) {
      if (bytes === 0) requireCsv(piece, fault)
      pieces.push(piece)
      bytes += piece.length
      if (bytes >= SNIFFED_BYTES_MAX) break
    }
    return Buffer.concat(pieces).subarray(0, SNIFFED_BYTES_MAX)
  } finally {
    await file.close()
  }
}
