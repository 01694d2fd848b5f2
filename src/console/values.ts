// Whether a visitor sees the values of rows. Promise kept here: a person who may approve a change sees it, unless the configuration hides values.

import type { Config } from '../../config/index.ts'
import { isAllowed } from '../core/domain/roles.ts'
import type { ConsoleDeps } from './deps.ts'

/** As `console.values` says; by default approvers see values, and so does a person who uses the machine of a console without users. */
export const valuesFor = (
  { visitor }: Pick<ConsoleDeps, 'visitor'>,
  { console: { values } }: Pick<Config, 'console'>,
): 'hidden' | 'shown' =>
  values ?? (visitor !== null && isAllowed(visitor.role, 'approver') ? 'shown' : 'hidden')
