// A page of an export.

import type { ExportName } from '../roles/archive.ts'

export async function exportSelect(name: ExportName, keys: readonly string[]): Promise<string> {
  const order = keys.join(', ')
  const after = keys.map((_, at) => `$${at + 2}`).join(', ')
  return `SELECT * FROM ${name} WHERE (${order}) > (${after}) ORDER BY ${order} LIMIT $1`
}
