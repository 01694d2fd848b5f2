// A ledger of this release becomes an older one: the next release has one more migration.

import { MIGRATIONS as POSTGRES } from '../src/ledger/postgres/migrations.ts'
import { MIGRATIONS as SQLITE } from '../src/ledger/sqlite/migrations.ts'

/** Does `work` as the next release, which makes the table `later`. */
export async function asNextRelease(work: () => unknown): Promise<void> {
  const lists = [POSTGRES, SQLITE] as string[][]
  for (const list of lists) list.push('CREATE TABLE later (id INTEGER)')
  try {
    await work()
  } finally {
    for (const list of lists) list.pop()
  }
}
