// A group on the terminal: a line for each sync, and no line that is wider than the screen.

import { expect, test } from 'vitest'
import { groupChanges, groupedText, groupFrame } from '../../../src/cli/views/group-lines.ts'
import type { GroupedSync } from '../../../src/core/domain/group-state.ts'

const one = (sync: string, more: Partial<GroupedSync> = {}): GroupedSync => ({
  sync,
  kind: 'import',
  after: [],
  state: 'waiting',
  run: null,
  workflow: null,
  reason: null,
  ...more,
})
const syncs = [
  one('companies', { state: 'complete', run: 7 }),
  one('contacts', { state: 'running', run: 8, after: ['companies'] }),
  one('deals', { after: ['contacts', 'companies'] }),
  one('notes'),
  one('calls', { state: 'skipped', run: 9, reason: 'skipped: after mails' }),
  one('mails', { state: 'failed', reason: 'no such file' }),
]
const style = (_: string, text: string) => text
const live = new Map([['contacts', 'contacts  ███ push 45 %']])

test('each sync says where it is, and what it waits for', () => {
  expect(syncs.map((each) => groupedText(each, syncs))).toEqual([
    'companies  complete  run 7',
    'contacts  running  run 8',
    'deals  waits for contacts',
    'notes  waits for a place',
    'calls  skipped: after mails  run 9',
    'mails  failed  no such file',
  ])
})

test('on a small screen live ones come first, and the others are counted', () => {
  const frame = (height: number) => groupFrame(syncs, live, { width: 60, height, style })
  expect(frame(24)).toHaveLength(6)
  expect(frame(24)[1]).toBe('contacts  ███ push 45 %')
  expect(frame(5)).toEqual(['contacts  ███ push 45 %', 'deals  waits for contacts', 'and 4 more'])
  for (const line of groupFrame(syncs, live, { width: 20, height: 24, style }))
    expect(line.length).toBeLessThanOrEqual(20)
})

test('without a screen a line is printed when something of it has changed', () => {
  const printed: string[] = []
  const show = groupChanges((line) => printed.push(line))
  show(syncs.slice(0, 3), new Map())
  expect(printed.splice(0)).toHaveLength(3)
  show(syncs.slice(0, 3), new Map())
  expect(printed).toEqual([])
  show(syncs.slice(0, 3), new Map([['contacts', 'contacts  blocked: auth']]))
  expect(printed).toEqual(['contacts  blocked: auth'])
})
