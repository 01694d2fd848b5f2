// The next version of the workflows: an import rests for a moment before it sends, unless it began with the version before.

import { dirname, join } from 'node:path'

/** Its file, next to that of the version that is there. */
export const nextVersionOf = (workflows: string): string =>
  join(dirname(workflows), 'workflows-next.js')

const PLACE = /^ +await steps\.begin\(['"]push['"]\)/gm
const TEMPORAL = /__webpack_require__\(\/\*! @temporalio\/workflow \*\/ ("[^"]+")\)/

/** @param code of the version that is there, as webpack writes it */
export function nextVersion(code: string): string {
  const [, temporal] = TEMPORAL.exec(code) ?? []
  if (code.match(PLACE)?.length !== 1 || temporal === undefined)
    throw new Error('workflows/import-order.ts does not begin to push where it did')
  const of = `__webpack_require__(${temporal})`
  return code.replace(PLACE, (found) => `if (${of}.patched('rest')) await ${of}.sleep(1)\n${found}`)
}
