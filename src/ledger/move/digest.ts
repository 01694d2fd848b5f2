// One digest of a table, whatever the order in which an engine gives its rows.

import { createHash } from 'node:crypto'
import type { MoveStore } from './store.ts'

const BYTES = 16
const MODULUS = 1n << BigInt(8 * BYTES)

export interface TableDigest {
  readonly table: string
  readonly rows: number
  /** The sum of the digests of its rows, 32 hexadecimal digits. */
  readonly digest: string
}

/** Reads the whole table, a page at a time. @param onRows called with how many rows were read so far */
export async function tableDigest(
  store: MoveStore,
  table: string,
  onRows: (rows: number) => void = () => {},
): Promise<TableDigest> {
  let rows = 0
  let sum = 0n
  for (let after: string | null = null; ;) {
    const page = await store.page(table, 'true', after)
    for (const row of page.rows) {
      const bytes = createHash('sha256').update(JSON.stringify(row)).digest('hex')
      sum = (sum + BigInt(`0x${bytes.slice(0, 2 * BYTES)}`)) % MODULUS
    }
    onRows((rows += page.rows.length))
    if (page.next === null) break
    after = page.next
  }
  return { table, rows, digest: sum.toString(16).padStart(2 * BYTES, '0') }
}
