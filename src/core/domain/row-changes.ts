// The register of what a row changes at the service, as a look-up of its key shows it before anything is sent.

import { namesOf, zeroCounts } from '../register.ts'

interface RowChangeEntry {
  readonly meaning: string
}

const ROW_CHANGE = {
  create: { meaning: 'no record has the key: a new one is made' },
  update: { meaning: 'the record gets other values' },
  equal: { meaning: 'the record has these values already; not sent' },
  protected: { meaning: 'others changed what the row would; left as it is' },
  changed: { meaning: 'others changed what the row would; refused (on_conflict: reject)' },
  exists: { meaning: 'there already, and left as it is (mode create)' },
  not_found: { meaning: 'not there, and not created (mode update)' },
  ambiguous: { meaning: 'several records have the key; refused' },
  /** A key without a record that was accepted before. */
  unknown: {
    meaning:
      'the record that was written before is gone, has another key, or the API key does not see it',
  },
} as const satisfies Record<string, RowChangeEntry>
export type RowVerdict = keyof typeof ROW_CHANGE

export const ROW_VERDICTS = namesOf(ROW_CHANGE)

export const verdictMeaning = (verdict: RowVerdict): string => ROW_CHANGE[verdict].meaning

export const noVerdicts = (): Record<RowVerdict, number> => zeroCounts(ROW_VERDICTS)
