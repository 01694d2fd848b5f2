// The page that asks before an undo has the facts of the command: none is left out, and none is another one.

import { expect, it } from 'vitest'
import type { ImportConfig, ImportSync } from '../../../config/index.ts'
import { undoFacts } from '../../../src/actions/undo-facts.ts'
import { undoShown } from '../../../src/console/actions/undo-counts.ts'
import type { UndoPlan } from '../../../src/import/index.ts'
import { html } from '../../../src/report/escape.ts'

const plan = (more: Partial<UndoPlan> = {}): UndoPlan => ({
  restored: 0,
  deleted: 0,
  made: 0,
  kept: 0,
  keysChanged: 0,
  keysTaken: 0,
  valuesKept: 0,
  valuesFixed: 0,
  gone: 0,
  deletions: 0,
  lost: 0,
  unknown: 0,
  cleared: 0,
  links: 0,
  left: {},
  warnings: [],
  excesses: [],
  ...more,
})

const people = (more: Partial<ImportConfig> = {}) =>
  ({ name: 'people', import: { from: { csv: 'people.csv' }, ...more } }) as unknown as ImportSync

const shownOf = (of: UndoPlan, purpose: 'sync' | 'undo' = 'sync', sync = people()) =>
  html`${undoShown(of, { id: 14, purpose }, sync).shown}`.toString()

it('has every fact that the command has', () => {
  const of = plan({
    restored: 2,
    deleted: 3,
    deletions: 5,
    kept: 4,
    keysChanged: 1,
    valuesKept: 6,
    links: 13,
    left: { changed_since: 1, already_gone: 1 },
    warnings: ['1 record that run 14 wrote has another key since, and is left as it is'],
  })
  const shown = shownOf(of)
  const text = shown.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
  expect(undoFacts(of)).toHaveLength(8)
  for (const [name, count] of undoFacts(of)) expect(text).toContain(`${name} ${count}`)
  expect(text).toContain('changed at the service since, left alone 1')
  expect(text).toContain('not at the service any more 1')
  expect(text).toContain('The next run of people sends 5 rows again')
  expect(text).toContain('has another key since')
})

it('says nothing of a next run that has nothing to do about it', () => {
  expect(shownOf(plan({ made: 3 }))).not.toContain('The next run')
  expect(shownOf(plan({ restored: 3 }), 'undo')).not.toContain('The next run')
})

it('names the command that sends rows again where the query reads on from its watermark', () => {
  const watermark = { column: 'at', initial: '0' }
  const incremental = (query: string, schedule?: object) =>
    shownOf(plan({ restored: 2 }), 'sync', {
      ...people({ from: { query, warehouse: 'lake', watermark } as ImportConfig['from'] }),
      ...(schedule && { schedule }),
    } as ImportSync)
  const windowed = incremental('SELECT 1 WHERE at >= :watermark AND at >= :from AND at < :to', {
    every: '1h',
  })
  expect(windowed).toContain('reads on from its watermark')
  expect(windowed).toContain('To send 2 rows again: records-sync backfill people --from DAY --to')
  expect(windowed).not.toContain('begins that run')
  expect(incremental('SELECT 1 WHERE at >= :watermark')).toContain(
    'records-sync reconcile people --repair',
  )
})

it('says that records which are made again are removed again', () => {
  const removing = people({ missing_rows: 'delete' })
  expect(shownOf(plan({ made: 3 }), 'sync', removing)).toContain('removes 3 records again')
})

it('says why nothing is left', () => {
  const { isPossible } = undoShown(plan({ kept: 2 }), { id: 14, purpose: 'sync' }, people())
  expect(isPossible).toBe(false)
  const shown = shownOf(plan({ kept: 2 }))
  expect(shown).toContain('nothing of it is left to be undone')
  expect(shown).not.toContain('The next run')
})
