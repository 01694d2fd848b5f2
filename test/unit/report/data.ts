// Reports by hand, for tests of the page: one of each kind, as `collectReport` would give it.

import {
  countAll,
  equationText,
  tallyOf,
  type Counts,
} from '../../../src/core/domain/outcome-counts.ts'
import {
  outcomeOf,
  statesOf,
  type ItemState,
  type Kind,
} from '../../../src/core/domain/outcomes.ts'
import { noDifferences } from '../../../src/core/domain/differences.ts'
import type {
  BooksReport,
  ReportComparison,
  FieldDifferences,
  RunReport,
  StreamReport,
} from '../../../src/report/run-report.ts'

const digest = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'

export function booksData(
  rows: Partial<Record<ItemState, number>>,
  more: Partial<BooksReport> = {},
): BooksReport {
  return {
    rows: accountData('row', rows),
    balanced: true,
    read_to_end: true,
    replayed: 0,
    maybe_created: 0,
    looked_up: 0,
    read_back: [],
    kept: null,
    written_over: null,
    deletions: null,
    in_doubt: 0,
    links: null,
    ...more,
  }
}

export function accountData(kind: Kind, counts: Counts): BooksReport['rows'] {
  const sum = countAll(counts)
  return {
    read: sum,
    sum,
    text: equationText(kind, sum, counts),
    states: statesOf(kind)
      .filter((state) => (counts[state] ?? 0) > 0)
      .map((state) => ({
        outcome: outcomeOf(state),
        state,
        count: counts[state]!,
        meaning: `meaning of ${state}`,
      })),
  }
}

/** Facts that the page does not show. */
const noFacts = {
  retry_of: null,
  undo_of: null,
  backfill: null,
  rows_read: null,
  rows: null,
  links: null,
  deletions: null,
  balanced: null,
  read_to_end: null,
  replayed: null,
  maybe_created: null,
  looked_up: null,
  in_doubt: null,
  read_back: null,
  kept: null,
  written_over: null,
  rows_different: null,
  deleted: null,
  workflow_id: 'w',
  key_fingerprint: null,
  warnings: [],
  verified_through: null,
}

/** An import of 10,000 rows that was balanced and had rejects. */
export function reportData(more: Partial<RunReport> = {}): RunReport {
  const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 14, minute)).toISOString()
  return {
    v: 1,
    made_at: '2026-11-21T15:10:00.000Z',
    run: {
      ...noFacts,
      run: 12,
      sync: 'contacts',
      kind: 'import',
      mode: 'run',
      purpose: 'sync',
      limits: null,
      state: 'complete_with_rejects',
      reason: null,
      message: null,
      opened_at: at(0),
      closed_at: at(20),
      seconds: 1_200,
    },
    verdict: {
      tone: 'look',
      words: 'Complete, with rejects',
      meaning: '151 of 10,000 rows were not accepted. The others have their outcome.',
      next: [
        {
          text: 'See them with their original columns, and correct them:',
          command: 'records-sync rejects 12',
        },
        {
          text: 'Send them again when what was wrong is mended:',
          command: 'records-sync retry 12',
        },
      ],
    },
    figures: [
      { name: 'rows read', value: 10_000 },
      { name: 'created', value: 6_200 },
      { name: 'updated', value: 2_149 },
      { name: 'not accepted', value: 151 },
    ],
    books: booksData(
      {
        created: 6_200,
        updated: 2_149,
        unchanged: 1_480,
        superseded: 20,
        invalid: 96,
        refused: 52,
        outcome_unknown: 3,
      },
      { replayed: 50, maybe_created: 50, in_doubt: 3 },
    ),
    streams: null,
    differences: null,
    comparison: null,
    work: {
      requests: 1_020,
      limit_per_minute: 60,
      outcomes: {
        share_seconds: 25,
        points: Array.from({ length: 48 }, (_, index) => ({
          at: new Date(Date.UTC(2026, 10, 21, 14, 0, index * 25)).toISOString(),
          created: index < 34 ? 150 + ((index * 37) % 90) : 20,
          updated: index < 34 ? 12 : 100 + ((index * 53) % 60),
          rejected: index % 7 === 3 ? 9 : 0,
          failed: index === 30 ? 3 : 0,
        })),
      },
      rate: {
        share_seconds: 60,
        points: Array.from({ length: 20 }, (_, index) => ({
          at: at(index),
          per_minute: index === 8 ? 21 : 48 + ((index * 7) % 11),
          failed_per_minute: index === 8 ? 6 : 0,
        })),
      },
    },
    errors: {
      rows: 151,
      groups: [
        {
          rows: 71,
          state: 'invalid',
          code: null,
          reason: 'not_a_date',
          column: 'Born on',
          property: 'svc_birthday',
          example_row: 31,
        },
        {
          rows: 40,
          state: 'refused',
          code: 'request_invalid',
          reason: 'schema_invalid',
          column: null,
          property: 'svc_email',
          example_row: 104,
        },
        {
          rows: 25,
          state: 'invalid',
          code: null,
          reason: 'key_missing',
          column: 'CustomerNumber',
          property: 'svc_external_id',
          example_row: 7,
        },
        {
          rows: 12,
          state: 'refused',
          code: 'conflict',
          reason: 'ambiguous_match',
          column: null,
          property: null,
          example_row: 2_204,
        },
        {
          rows: 3,
          state: 'outcome_unknown',
          code: 'internal_error',
          reason: null,
          column: null,
          property: null,
          example_row: 9_120,
        },
      ],
      omitted: 0,
    },
    retry_of: null,
    left: { rows: 33, of: 151, by_run: [{ run: 13, rows: 33 }] },
    retries: [
      {
        run: 13,
        of: 12,
        state: 'complete_with_rejects',
        counts: { read: 151, ...tallyOf('row', { created: 118, refused: 33 }) },
        opened_at: '2026-11-21T14:40:00.000Z',
        rows: 151,
        mended: 118,
      },
      {
        run: 15,
        of: 13,
        state: 'running',
        counts: null,
        opened_at: '2026-11-21T15:05:00.000Z',
        rows: 33,
        mended: null,
      },
    ],
    undos: [],
    provenance: {
      from: 'file contacts.csv',
      to: 'svc_contact of connection crm, by svc_external_id',
      source_digest: digest,
      key_fingerprint: '1a2b3c4d5e6f',
      warnings: [
        'svc_opted_in can be set once only: a changed value of an existing record is rejected',
      ],
      workflow_id: 'import-contacts',
      workflow_run_id: '0197f6a2-3c11-7c1b-a6e7-52b0f4a2d111',
      workflow_url: 'http://127.0.0.1:8233/namespaces/default/workflows/import-contacts/0197f6a2',
      manifest: { digest, signed: true, previous: digest },
    },
    commands: { rejects: 'records-sync rejects 12', audit: 'records-sync audit' },
    ...more,
  }
}

const fieldNames = [
  'svc_email',
  'svc_phone',
  'svc_first_name',
  'svc_last_name',
  'svc_birthday',
  'svc_city',
]

export const fieldDifferences = (
  name: string | null,
  index: number,
  stream = 'svc_contact',
): FieldDifferences => ({
  stream,
  field: name,
  differences: 400 - index * 19,
  repaired: 0,
  kinds: { ...noDifferences(), stale: 100, different: 300 - index * 19 },
  whose: {
    source: 100,
    service: 200 - index * 10,
    both: 40,
    warehouse: 0,
    unknown: 60 - index * 9,
  },
  example_row: 17 + index,
})

/** A reconciliation of an import, with differences of every kind. */
export function comparedData(more: Partial<ReportComparison> = {}): RunReport {
  const comparison: ReportComparison = {
    whole: true,
    repair: false,
    delete_extra: false,
    compared: 200_000,
    equal: 198_742,
    kept: null,
    found: { missing: 310, extra: 42, stale: 618, different: 330 },
    left: { missing: 310, extra: 42, stale: 618, different: 330 },
    fields: [
      ...fieldNames.map((name, index) => fieldDifferences(name, index)),
      {
        ...fieldDifferences(null, 5),
        differences: 352,
        kinds: { missing: 310, extra: 42, stale: 0, different: 0 },
        whose: { source: 0, service: 0, both: 0, warehouse: 0, unknown: 352 },
      },
    ],
    fields_omitted: 0,
    verified_through: null,
    ...more,
  }
  const base = reportData()
  return {
    ...base,
    run: { ...base.run, purpose: 'reconcile', limits: null },
    verdict: {
      tone: 'look',
      words: '1,300 differences',
      meaning:
        '1,300 records differ (310 missing, 42 extra, 618 stale, 330 different). Nothing was changed: the run only compared.',
      next: [
        {
          text: 'Write what the source says to the service:',
          command: 'records-sync reconcile contacts --repair',
        },
      ],
    },
    figures: [
      { name: 'compared', value: 200_000 },
      { name: 'equal', value: 198_742 },
      { name: 'differ', value: 1_300 },
    ],
    books: booksData({ unchanged: 198_742, not_sent: 1_258 }),
    comparison,
    errors: { rows: 0, groups: [], omitted: 0 },
    left: null,
    retries: [],
    undos: [],
  }
}

const streamData = (name: string, more: Partial<StreamReport> = {}): StreamReport => ({
  stream: name,
  table: `crm_copy.${name}`,
  state: 'complete',
  mode: 'incremental',
  read: 1_204,
  inserted: 112,
  changed: 1_070,
  unchanged: 0,
  deleted: 22,
  older: null,
  reverted: null,
  differs: null,
  requests: 31,
  misfits: 0,
  service_count: 88_120,
  table_count: 88_120,
  message: null,
  ...more,
})

/** A mirror of which one table failed. */
export function mirrorData(): RunReport {
  const base = reportData()
  return {
    ...base,
    run: { ...base.run, sync: 'crm_copy', kind: 'mirror', state: 'failed' },
    verdict: {
      tone: 'bad',
      words: 'Failed',
      meaning: '1 of 4 tables could not be brought up to date; the others are as they should be.',
      next: [{ text: 'When what is said above is mended:', command: 'records-sync run crm_copy' }],
    },
    figures: [
      { name: 'records read', value: 4_816 },
      { name: 'inserted', value: 448 },
      { name: 'changed', value: 4_280 },
      { name: 'deleted', value: 88 },
    ],
    books: null,
    streams: [
      streamData('svc_contact', { misfits: 3 }),
      streamData('svc_company', { table_count: 88_119 }),
      streamData('svc_contact_edges', { service_count: null, table_count: null }),
      streamData('svc_deal', {
        state: 'failed',
        message: 'column svc_amount is missing in the table: add it again, or drop the table',
      }),
    ],
    work: { requests: 124, limit_per_minute: 600, outcomes: null, rate: null },
    errors: { rows: 0, groups: [], omitted: 0 },
    left: null,
    retries: [],
    undos: [],
  }
}
