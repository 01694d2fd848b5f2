// Recorded histories replay on today's code: a run that was begun before an upgrade goes on after. Never change or remove one.

import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from '@temporalio/worker'
import { expect, test } from 'vitest'
import { workflowBundle as codePath } from '../e2e/worker.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const histories = readdirSync(folder).filter((name) => name.endsWith('.json'))
const workflowBundle = { codePath }

test('there are recorded histories', () => {
  expect(histories.toSorted()).toEqual([
    'backfill-help.json',
    'backfill-window.json',
    'group-complete.json',
    'group-failed.json',
    'group-links.json',
    'import-cancelled.json',
    'import-complete.json',
    'import-failed.json',
    'import-links.json',
    'import-of-group.json',
    'import-paused.json',
    'import-plan-applied.json',
    'import-plan-approved.json',
    'import-reconcile.json',
    'import-rejected.json',
    'import-removals.json',
    'import-retry.json',
    'import-undo.json',
    'links-of-group.json',
    'mirror-approved.json',
    'mirror-cancelled.json',
    'mirror-complete.json',
    'mirror-failed.json',
    'mirror-reconcile.json',
  ])
})

test.each(histories)('%s replays', async (name) => {
  const history: unknown = JSON.parse(readFileSync(`${folder}${name}`, 'utf8'))
  await Worker.runReplayHistory({ workflowBundle }, history)
})

test.each([
  { history: 'import-complete', activity: 'stageImport' },
  { history: 'mirror-approved', activity: 'noteVerdict' },
  { history: 'group-failed', activity: 'noteSkipped' },
])('a $history that does not fit is refused', async ({ history: name, activity }) => {
  const text = readFileSync(`${folder}${name}.json`, 'utf8')
  const history: unknown = JSON.parse(text.replaceAll(`"${activity}"`, '"somethingElse"'))
  await expect(Worker.runReplayHistory({ workflowBundle }, history)).rejects.toThrow(
    /[Nn]ondeterminism/,
  )
})
