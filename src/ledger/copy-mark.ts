// Which copy of a ledger this is.

import { hash as digestOf } from 'node:crypto'

/** @param of what only this copy has */
export const copyMark = (of: string): string => digestOf('sha256', of, 'hex').slice(0, 8)
