// The live runs as `watch` shows them: a block for each on a screen, a line for each where there is none, an object for programs.
// Promise kept here: no line is wider than the screen, and what does not fit is left out whole.

import type { Run } from '../../ledger/ledger.ts'
import type { CommandContext } from '../shared/context.ts'
import type { ControlVerb } from '../shared/control-keys.ts'
import {
  bar,
  elapsedText,
  flowed,
  formatNumber,
  safeText,
  wholeParts,
  wrapped,
  type Terminal,
} from '../shared/terminal.ts'
import { countersToJson, phaseText, type LiveProgress } from '../../report/live-progress.ts'
import { heldUpText, paceText, progressParts } from './progress-line.ts'
import type { Pace } from '../../report/rate.ts'

export interface WatchedRun {
  readonly run: Run
  readonly progress: LiveProgress
  readonly pace: Pace
  /** What is known of the quota, in words. */
  readonly quota: string | null
  /** How long its counts have been the same, ms. */
  readonly stillMs: number
}

type Hints = Pick<CommandContext, 'hint'>

/** Counts that stay the same for longer are reported: the reason may be that no worker runs. */
const STILL_MAX_MS = 60_000
const MESSAGE_LINES_MAX = 5
const BAR_WIDTHS = [24, 10]

/** Why it does not move, as far as that is known here. */
function whyStill({ run, quota, stillMs }: WatchedRun, context: Hints): string | null {
  const held = heldUpText(run, context)
  if (held !== null) return held
  if (stillMs < STILL_MAX_MS || /^(?:waits|the service refuses) /.test(quota ?? '')) return null
  return `nothing has changed for ${elapsedText(stillMs)}; is a worker running? Start one with ${context.hint('worker')}`
}

/** `paused`, `blocked: service`; null for one that is at work. */
const standsText = ({ state, reason }: Run): string | null =>
  state === 'running' ? null : reason === null ? state : `${state}: ${reason}`

/** A run in one line. */
export function watchedLine(watched: WatchedRun, context: Hints): string {
  const { run, progress, pace, quota } = watched
  const why = whyStill(watched, context)
  const stands = standsText(run)
  return [
    safeText(run.sync, 63),
    `run ${run.id}`,
    ...(stands ? [stands] : []),
    ...progressParts(progress, pace),
    ...(quota ? [quota] : []),
    ...(why ? [why] : []),
  ].join('  ')
}

/** A run for programs. */
export function watchedToJson({ run, progress, pace, quota }: WatchedRun, nowMs: number): object {
  return {
    at: new Date(nowMs).toISOString(),
    sync: run.sync,
    run: run.id,
    kind: run.kind,
    purpose: run.purpose,
    state: run.state,
    reason: run.reason,
    message: run.message,
    phase: progress.phase,
    percent: progress.percent,
    ...(progress.counters && { progress: countersToJson(progress.counters) }),
    rows_per_second: pace.rate,
    seconds_left: pace.leftMs === null ? null : Math.round(pace.leftMs / 1_000),
    quota,
  }
}

export interface Frame {
  /** Of the screen, in columns and rows. */
  readonly width: number
  readonly height: number
  readonly nowMs: number
  /** The run that keys are for; null where no key can be pressed. */
  readonly selected: number | null
  /** Whether a person is asked if it shall be cancelled. */
  readonly isAsking: boolean
  /** What a run was asked for by a key, and has not done yet. */
  readonly asked?: (run: number) => ControlVerb | null
}

/** What a run does that was asked for by a key. */
const ASKED: Readonly<Record<ControlVerb, string>> = {
  pausing: 'a pause is asked for; what is in flight is finished first',
  resuming: 'it is asked to go on',
  cancelling: 'it is asked to end; what is in flight is finished first',
}

/** All that is drawn: a block for each run, then what the keys do. */
export function watchFrame(
  runs: readonly WatchedRun[],
  frame: Frame,
  context: Hints & { readonly terminal: Pick<Terminal, 'style'> },
): string[] {
  const foot = footOf(runs, frame)
    .slice(0, Math.max(1, frame.height - 3))
    .map((line) => context.terminal.style('dim', line))
  const blocks = runs.map((watched) => [...blockOf(watched, frame, context), ''])
  const room = Math.max(1, frame.height - foot.length - 2)
  const first = firstShown(
    blocks.map((lines) => lines.length),
    runs.findIndex(({ run }) => run.id === frame.selected),
    room,
  )
  const shown: string[] = []
  let at = first
  while (at < blocks.length && (at === first || shown.length + blocks[at]!.length <= room))
    shown.push(...blocks[at++]!)
  const hidden = blocks.length - (at - first)
  const more = hidden === 0 ? [] : [`${formatNumber(hidden)} more, not shown here`]
  return [...shown.slice(0, room), ...more.map((line) => wholeParts(line, frame.width)), ...foot]
}

/** The first block that is shown, so that the selected one fits. */
function firstShown(heights: readonly number[], selected: number, room: number): number {
  let first = 0
  const used = () => heights.slice(first, selected + 1).reduce((sum, lines) => sum + lines, 0)
  while (first < selected && used() > room) first++
  return first
}

function blockOf(
  watched: WatchedRun,
  { width, nowMs, selected, asked }: Frame,
  context: Hints & { readonly terminal: Pick<Terminal, 'style'> },
): string[] {
  const { run, progress, pace, quota } = watched
  const { style } = context.terminal
  const verb = asked?.(run.id) ?? null
  const stands = verb ?? standsText(run)
  const head = [
    `${run.id === selected ? '›' : ' '} ${safeText(run.sync, 63)}`,
    `run ${run.id}`,
    ...(stands ? [stands] : []),
    phaseText(progress),
    elapsedText(nowMs - Date.parse(run.openedAt)),
    ...(run.purpose === 'sync' ? [] : [run.purpose]),
  ].join('  ')
  const why = verb === null ? whyStill(watched, context) : ASKED[verb]
  const rest = [...progress.details, ...(quota ? [quota] : [])].join('  ')
  return [
    style(run.id === selected ? 'bold' : stands ? 'yellow' : 'cyan', wholeParts(head, width)),
    figuresLine(progress, pace, width),
    ...(rest === '' ? [] : [wholeParts(`  ${rest}`, width)]),
    ...(why === null ? [] : wrapped(why, 2, width).slice(0, MESSAGE_LINES_MAX))
      .map((line) => wholeParts(line, width))
      .map((line) => style('yellow', line)),
  ]
}

/** Bar, amount, pace: the bar gets narrower, then goes, before a figure goes. */
function figuresLine({ percent, amount }: LiveProgress, pace: Pace, width: number): string {
  const speed = paceText(pace)
  const figures = [amount, ...(speed ? [speed] : [])].join('  ')
  const bars = percent === null ? [] : BAR_WIDTHS.map((columns) => bar(percent / 100, columns))
  const lines = [...bars.map((each) => `  ${each}  ${figures}`), `  ${figures}`]
  return lines.find((line) => line.length <= width) ?? wholeParts(lines.at(-1)!, width)
}

/** What the keys do. */
function footOf(runs: readonly WatchedRun[], { width, selected, isAsking }: Frame): string[] {
  const chosen = runs.find(({ run }) => run.id === selected)?.run
  const lines = (text: string) => wrapped(text, 0, width).map((line) => wholeParts(line, width))
  if (isAsking && chosen)
    return lines(
      `Cancel run ${chosen.id} of ${safeText(chosen.sync, 63)}? What is done stays, the rest is not sent. y cancels it, any other key does not.`,
    )
  if (selected === null) return [wholeParts('Ctrl-C ends watching; runs go on', width)]
  const keys = ['q quit; runs go on', 'p pause', 'r resume', 'c cancel']
  return flowed([...keys, ...(runs.length > 1 ? ['↑ ↓ choose'] : [])], 0, width)
}
