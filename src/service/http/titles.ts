// The reason phrase of a status: the title of a problem, and its status line.

import { STATUS_CODES } from 'node:http'
import { TITLES } from '../../contract/index.ts'

/** Two statuses occur before there is a request, so they are not in the contract's table. */
export function titleOf(status: number): string {
  return TITLES[status] ?? STATUS_CODES[status]!
}
