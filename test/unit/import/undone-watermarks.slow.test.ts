// An undo gives back the watermark that a key had before the run that is undone: what came before it is older than that still, and what
// came after it may be written again.

import { describe, expect, it } from 'vitest'
import type { ImportConfig } from '../../../config/index.ts'
import type { Json } from '../../../src/core/json.ts'
import { onSampledLedgers } from './each-ledger.ts'
import { EVENTS, eventsSource, windowOf, type Event } from './events.ts'
import { CONTACT, importScene, type RunOptions, type Scene } from './scene.ts'
import { part } from '../../runs.ts'

const MAPPING = {
  svc_external_id: { column: 'id' },
  svc_first_name: { column: 'first' },
  svc_score: { column: 'at' },
}

/** The events of one key, in the order in which they come in: `at`, or `[at, name]`; the name `gone` asks for a deletion. */
type Step =
  | { readonly run: readonly (number | readonly [at: number, first: string])[] }
  | { readonly window: number; readonly over?: true }
  /** The run of this step, from 0. */
  | { readonly undo: number; readonly properties?: readonly string[]; readonly confirmed?: number }
  | { readonly reconcile: true }
  | { readonly edit: Record<string, Json> }
  | { readonly remove: true }

interface Case {
  readonly name: string
  readonly steps: readonly Step[]
  /** By the time of an event that a window brings last, the time of the record then; null: there is none. */
  readonly leaves: readonly (readonly [window: number, held: number | null])[]
}

const run = (...events: (number | readonly [number, string])[]): Step => ({ run: events })
const undo = (step: number, more: object = {}): Step => ({ undo: step, ...more })
const window = (at: number, over?: true): Step => ({ window: at, ...(over && { over }) })
const gone = (at: number) => [at, 'gone'] as const

const CASES: readonly Case[] = [
  {
    name: 'an update',
    steps: [run(2), run(6), undo(1)],
    leaves: [
      [4, 4],
      [1, 2],
      [2, 2],
      [6, 6],
    ],
  },
  {
    name: 'two updates, the last one first',
    steps: [run(2), run(4), run(6), undo(2), undo(1)],
    leaves: [
      [3, 3],
      [1, 2],
    ],
  },
  {
    name: 'the last of two updates',
    steps: [run(2), run(4), run(6), undo(2)],
    leaves: [
      [3, 4],
      [5, 5],
    ],
  },
  {
    name: 'the first of two updates',
    steps: [run(2), run(4), run(6), undo(1)],
    leaves: [
      [5, 6],
      [3, 6],
    ],
  },
  {
    name: 'a creation',
    steps: [run(6), undo(0)],
    leaves: [
      [4, 4],
      [1, 1],
    ],
  },
  {
    name: 'an update of a record of others',
    steps: [{ edit: { svc_score: 1 } }, run(6), undo(1)],
    leaves: [
      [4, 4],
      [2, 2],
    ],
  },
  {
    name: 'an undo',
    steps: [run(2), run(6), undo(1), undo(2)],
    leaves: [
      [4, 6],
      [7, 7],
    ],
  },
  {
    name: 'the undo of an undo',
    steps: [run(2), run(6), undo(1), undo(2), undo(3)],
    leaves: [
      [4, 4],
      [1, 2],
    ],
  },
  {
    name: 'the undo of a creation',
    steps: [run(6), undo(0), undo(1)],
    leaves: [
      [4, 6],
      [7, 7],
    ],
  },
  {
    name: 'a creation, made again, and undone',
    steps: [run(6), undo(0), undo(1), undo(2)],
    leaves: [[4, 4]],
  },
  {
    name: 'a deletion',
    steps: [run(2), run(gone(6)), undo(1)],
    leaves: [
      [4, 4],
      [1, 2],
    ],
  },
  {
    name: 'the undo of a deletion',
    steps: [run(2), run(gone(6)), undo(1), undo(2)],
    leaves: [
      [4, null],
      [7, 7],
    ],
  },
  {
    name: 'a creation after a deletion',
    steps: [run(2), run(gone(4)), run(6), undo(2)],
    leaves: [
      [3, null],
      [5, 5],
    ],
  },
  {
    name: 'one property of two',
    steps: [run([2, 'b']), run([6, 'a']), undo(1, { properties: ['svc_first_name'] })],
    leaves: [
      [4, 6],
      [7, 7],
    ],
  },
  {
    name: 'an update that others changed',
    steps: [run(2), run([6, 'b']), { edit: { svc_first_name: 'theirs', svc_score: 9 } }, undo(1)],
    leaves: [
      [4, 9],
      [7, 7],
    ],
  },
  {
    name: 'an update after one that changed nothing',
    steps: [run([1, 'a']), run([4, 'a']), run([6, 'b']), undo(2)],
    leaves: [
      [3, 4],
      [5, 5],
    ],
  },
  {
    name: 'an older one that was written over it',
    steps: [run(6), window(2, true), undo(1)],
    leaves: [
      [4, 6],
      [7, 7],
    ],
  },
  {
    name: 'a window',
    steps: [run(2), window(6), undo(1)],
    leaves: [
      [4, 4],
      [1, 2],
    ],
  },
  {
    name: 'an update that was read again since',
    steps: [run(2), run(6), run(6), undo(1)],
    leaves: [
      [4, 4],
      [1, 2],
    ],
  },
  {
    name: 'an update that a reconciliation found equal since',
    steps: [run(2), run(6), { reconcile: true }, undo(1)],
    leaves: [
      [4, 4],
      [1, 2],
    ],
  },
  {
    name: 'an update, sent again by the next run',
    steps: [run(2), run(6), undo(1), run(6)],
    leaves: [[4, 6]],
  },
  {
    name: 'an update that was left out as older',
    steps: [run(6), window(4), undo(1)],
    leaves: [[5, 6]],
  },
  {
    name: 'an update whose record is gone since',
    steps: [run(2), run(6), { remove: true }, undo(1)],
    leaves: [[7, 7]],
  },
]

const eventOf = (given: number | readonly [number, string]): Event => {
  const [at, first = 'same'] = typeof given === 'number' ? [given] : given
  return { id: '1', first, at }
}

const reading = (events: readonly Event[], more: RunOptions = {}): RunOptions => ({
  answers: (extent) => eventsSource(events, extent),
  approves: true,
  ...more,
})

async function play(steps: readonly Step[]) {
  const s = await importScene(MAPPING, {
    from: EVENTS,
    verify: 'all',
    keep_before: true,
    delete_when: { column: 'first', equals: ['gone'] },
  } as Partial<ImportConfig>)
  const events = new Map<number, Event>()
  const read = () => [...events.values()]
  const runs: number[] = []
  for (const step of steps) runs.push(await take(s, step, { events, read, runs }))
  return { s, events, read }
}

async function take(
  s: Scene,
  step: Step,
  {
    events,
    read,
    runs,
  }: { events: Map<number, Event>; read: () => readonly Event[]; runs: readonly number[] },
): Promise<number> {
  if ('run' in step) {
    for (const event of step.run.map(eventOf)) events.set(event.at, event)
    return (await s.run(reading(read()))).run
  }
  if ('window' in step) {
    const { window: at } = step
    events.set(at, eventOf(at))
    return (await s.run(reading(read(), windowOf(at, at + 1, step.over)))).run
  }
  if ('undo' in step) {
    const { undo: of, properties } = step
    const end = await s.undo(runs[of]!, properties ? { properties } : {}, reading(read()))
    return end.run
  }
  if ('reconcile' in step) return (await s.reconcile({}, reading(read()))).run
  const record = await s.held('1')
  if ('remove' in step) await s.client.deleteRecord(CONTACT, record!.id)
  else if (record === null)
    await s.client.createRecord(CONTACT, { svc_external_id: '1', ...step.edit })
  else await s.client.updateRecord(CONTACT, record.id, step.edit)
  return 0
}

const timeOf = async (s: Scene) =>
  ((await s.held('1'))?.properties['svc_score'] as number | undefined) ?? null

onSampledLedgers('after an undo of', () => {
  describe.each(CASES)('$name', ({ steps, leaves }) => {
    it.each(part(leaves, 2).map(([at, held]) => ({ at, held })))(
      'a window with the event of $at leaves $held',
      async ({ at, held }) => {
        const { s, events, read } = await play(steps)
        const before = await timeOf(s)
        if (!events.has(at)) events.set(at, { ...eventOf(at), first: `late ${at}` })
        const end = await s.run(reading(read(), windowOf(at, at + 1)))
        expect(await timeOf(s)).toBe(held)
        const warnings = (await s.ledger.run(end.run))!.warnings
        // All that wrote the key is of this version.
        expect(warnings.filter((text) => text.includes('without knowing'))).toEqual([])
        const isLeftOut = end.books.states.superseded === 1
        expect(warnings.some((text) => text.includes('greater watermark'))).toBe(isLeftOut)
        if (held === before && held !== at) expect(isLeftOut).toBe(true)
      },
    )
  })
})
