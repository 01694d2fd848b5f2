// Places of links within a run.

import type { LinkPlace } from '../../ledger/ledger.ts'

/** In front of all links. */
export const FIRST_LINK_PLACE: LinkPlace = { ordinal: 0, number: 0 }
