// Whether a service takes an e-mail, or a url, in capitals and in small letters for the same: it shows that if a record is found
// by its own value written the other way round. If it has no record to show it with, its values are compared exactly, as the
// specification has it.

import type { FilterNode } from '../../contract/index.ts'
import type { ImportConfig } from '../../../config/index.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import { isCaseFoldable } from './key.ts'
import type { ImportDeps } from '../ports.ts'

const LETTERS = /[a-z]/i

/** Capitals become small letters, and the other way round. */
const swapped = (text: string): string =>
  text.replaceAll(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  )

/** @param fieldType of the matching property, as the mapping has it */
export async function foldsCase(
  deps: Pick<ImportDeps, 'client' | 'signal' | 'priority' | 'beat' | 'clock'>,
  config: Pick<ImportConfig, 'object_type' | 'matching_property'>,
  fieldType: string,
): Promise<boolean> {
  if (!isCaseFoldable(fieldType)) return false
  const { object_type: type, matching_property: name } = config
  const { client, signal, priority } = deps
  const read = async (filter?: FilterNode) => {
    const query = { properties: [name], ...(filter && { filter }) }
    return (await withHeartbeat(deps, client.queryRecords(type, query, { signal, priority }))).data
  }
  for (const { id, properties } of await read()) {
    const [value] = [properties[name]].flat()
    if (typeof value !== 'string' || !LETTERS.test(value)) continue
    const other = swapped(value)
    // Not `in`, whose entries are compared with the stored values exactly (specification section 2.11).
    const found = await read({ property: name, op: 'eq', value: other } as FilterNode)
    return found.some((record) => record.id === id)
  }
  return false
}
