// What the objects of several pages are made of. Times are ISO 8601 in UTC; what is not known is null.

import { z } from 'zod'

export const count = z.int()
export const countOrNull = count.nullable()
export const anyText = z.string()
export const textOrNull = anyText.nullable()
export const time = z.string().meta({ description: 'ISO 8601, in UTC.' })
export const timeOrNull = time.nullable()

export const valuesShown = z
  .enum(['hidden', 'shown'])
  .describe('`console.values` of the configuration: whether values of rows are in the answer.')

export type ValuesShown = z.output<typeof valuesShown>

export const TONES = ['good', 'live', 'look', 'bad', 'none'] as const
export type Tone = (typeof TONES)[number]

export const tone = z
  .enum(TONES)
  .describe(
    '`good`: nothing to do. `live`: at work. `look`: a person should look. `bad`: a person has to. `none`: it never ran, or that is not known.',
  )

export const step = z.object({
  text: anyText,
  command: textOrNull.describe('The command to type.'),
})

/** Rows of a run by outcome, and records that it deleted. */
export const runParts = z.object({
  created: count,
  updated: count,
  unchanged: count,
  skipped: count,
  deleted: count,
  rejected: count,
})

export const runBar = z.object({
  run: count,
  purpose: anyText,
  state: anyText,
  tone,
  opened_at: time,
  seconds: z.number().nullable().describe('Null while it is live.'),
  rows: countOrNull,
  parts: runParts.nullable().describe('Null before its books are closed.'),
})
export type RunBar = z.output<typeof runBar>

export const liveProgress = z.object({
  phase: anyText,
  percent: countOrNull,
  amount: anyText.describe('What is done in the phase, in words.'),
  details: z.array(anyText),
  waits: textOrNull.describe('Why it does not move although it is at work.'),
  per_second: z.number().nullable(),
  seconds_left: z.number().nullable(),
  parts: runParts
    .extend({ pending: count })
    .nullable()
    .describe('Of an import: rows by outcome so far, and those still to be sent.'),
})
export type LiveView = z.output<typeof liveProgress>

export const runStep = z.object({
  name: anyText,
  state: z
    .enum(['done', 'now', 'next', 'ended', 'left'])
    .describe('`ended`: the run failed or was cancelled in it. `left`: the run ended before it.'),
  from: timeOrNull.describe('Null where the ledger has no time of it.'),
  to: timeOrNull.describe('Null while it goes on, and where the ledger has no time of its end.'),
  text: textOrNull,
})
export type RunStep = z.output<typeof runStep>
