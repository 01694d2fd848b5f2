// How many columns a source may have.

import { formatNumber } from '../core/format.ts'

/** Each column is compared with each property of an object type, proposed, shown and kept. */
const COLUMNS_MAX = 10_000

/** Why a source with so many columns is refused; null where it is not. @param of what has them: `the header` */
export const tooManyColumns = (of: string, count: number): string | null =>
  count > COLUMNS_MAX
    ? `${of} has ${formatNumber(count)} columns; expected ${formatNumber(COLUMNS_MAX)} at most`
    : null
