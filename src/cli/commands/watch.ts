// `records-sync watch [SYNC]`: all live runs, until none is live. On a screen keys pause, resume and cancel them; elsewhere each is
// a line, printed when something has changed, and it ends where all of them wait for approval. It only looks: the runs go on without it.

import { approveCommand } from '../../core/domain/limit-exceeded.ts'
import { findSync } from '../../../config/index.ts'
import { systemClock } from '../../core/ports.ts'
import type { Run } from '../../ledger/ledger.ts'
import { printJson } from '../json.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import { readKeys, type KeyInput } from '../shared/keys.ts'
import { createLedgerRetry } from '../shared/ledger-retry.ts'
import { createLiveBlock } from '../shared/live-block.ts'
import { ControlKeys, controlSender, type SendControl } from '../shared/control-keys.ts'
import { columnsOf, messageLines, safeText, wrapped } from '../shared/terminal.ts'
import { LiveRuns } from '../views/live-runs.ts'
import { watchedLine, watchedToJson, watchFrame, type WatchedRun } from '../views/watched-runs.ts'

const SCREEN_EVERY_MS = 500
const LINE_EVERY_MS = 5_000

export interface WatchOptions {
  /** Go on when no run is live, and show the next ones. */
  readonly keep: boolean
}

/** Where it shows them: the process's own streams, but for tests. */
export interface WatchScreen {
  readonly input: KeyInput
  readonly output: {
    readonly isTTY?: boolean
    readonly columns?: number
    readonly rows?: number
    write(text: string): unknown
  }
  /** What a key does. Default: by the Temporal server. */
  readonly send?: SendControl
  /** Between two readings, ms. */
  readonly everyMs?: number
}

export async function watch(
  context: CommandContext,
  sync: string | undefined,
  { keep }: WatchOptions,
  screen: WatchScreen = { input: process.stdin, output: process.stdout },
): Promise<number> {
  const config = await context.loadConfig()
  if (sync !== undefined) findSync(config, sync)
  const left = new AbortController()
  const leave = () => left.abort()
  const isScreen = Boolean(screen.output.isTTY) && !context.json
  const view = isScreen ? screenView(context, screen, leave) : lineView(context)
  const runs = new LiveRuns(context, config, sync)
  const patience = createLedgerRetry({
    noteAway: (away) =>
      view.print(
        away ? 'The ledger does not answer; runs go on. Asking again' : 'The ledger is back',
      ),
  })
  let waits = 0
  process.once('SIGINT', leave)
  try {
    // Bounded by the runs, which end, or by the person who looks.
    while (!left.signal.aborted) {
      const read = (await patience.once(() => runs.read()))?.value
      for (const run of read?.ended ?? []) view.ended(run)
      if (read) view.show(read.live)
      if (read?.live.length === 0 && !keep) break
      if (!isScreen && !keep && read) {
        const waiting = read.live.map(({ run }) => run).filter(isWaiting)
        // Twice in a row: an approved run goes on a moment later.
        waits = waiting.length === read.live.length ? waits + 1 : 0
        if (waits > 1) return printWaiting(context, waiting)
      }
      await systemClock.sleep(screen.everyMs ?? view.everyMs, left.signal).catch(() => {})
    }
    view.end()
    if (!left.signal.aborted && !runs.wereSeen) printNone(context, await runs.latest(), sync)
    process.removeListener('SIGINT', leave)
    await view.sent()
    return EXIT.done
  } finally {
    view.end()
    process.removeListener('SIGINT', leave)
    await runs.close()
  }
}

/** Whether only a person lets the run go on: nobody reads a script's output to do so. */
const isWaiting = ({ state, reason }: Run): boolean => state === 'blocked' && reason === 'approval'

/** The commands that let the runs go on, or end them. */
function printWaiting({ terminal, hint }: CommandContext, runs: readonly Run[]): number {
  for (const run of runs)
    terminal.err(
      `Run ${run.id} of ${safeText(run.sync, 63)} waits for approval: ${hint(approveCommand(run))}, or ${hint(`reject ${run.id}`)}`,
    )
  return EXIT.stopped
}

interface View {
  readonly everyMs: number
  show(live: readonly WatchedRun[]): void
  ended(run: Run): void
  print(line: string): void
  end(): void
  /** Until the runs are told of the keys that were pressed. */
  sent(): Promise<void>
}

/** Lines, or objects: each run when something of it has changed. */
function lineView(context: CommandContext): View {
  const { json, terminal } = context
  const last = new Map<number, string>()
  return {
    everyMs: LINE_EVERY_MS,
    show(live) {
      const nowMs = systemClock.now()
      for (const watched of live) {
        const line = watchedLine(watched, context)
        if (last.get(watched.run.id) === line) continue
        last.set(watched.run.id, line)
        if (json) printJson(terminal, watchedToJson(watched, nowMs))
        else terminal.out(line)
      }
    },
    ended(run) {
      last.delete(run.id)
      const { id, sync, kind, purpose, state, reason, message } = run
      const at = new Date(systemClock.now()).toISOString()
      const ended = { at, sync, run: id, kind, purpose, state, reason, message }
      if (json) printJson(terminal, ended)
      else terminal.out(endText(context, run))
    },
    print: (line) => terminal.err(line),
    end: () => {},
    sent: async () => {},
  }
}

/** A block that is drawn again and again, and keys. */
function screenView(
  context: CommandContext,
  { input, output, send }: WatchScreen,
  leave: () => void,
): View {
  const block = createLiveBlock(output)
  let isOver = false
  const width = () => columnsOf(output) - 1
  const print = (line: string) => {
    const text = wrapped(line, 0, width()).join('\n')
    if (isOver) output.write(`${text}\n`)
    else block.print(text)
  }
  // What a command says goes above the block.
  const terminal = { ...context.terminal, err: (line = '') => print(line) }
  const control = new ControlKeys(send ?? controlSender({ ...context, terminal }), print)
  let live: readonly WatchedRun[] = []
  const draw = () => {
    const { selected, isAsking } = control
    const frame = {
      width: width(),
      height: output.rows ?? 24,
      nowMs: systemClock.now(),
      selected,
      isAsking,
      asked: (run: number) => control.asked(run),
    }
    block.draw(live.length === 0 ? [] : watchFrame(live, frame, context))
  }
  const stop = readKeys(input, (key) => {
    if (key === 'ctrl-c' || (key === 'q' && !control.isAsking)) return leave()
    control.press(key)
    draw()
  })
  return {
    everyMs: SCREEN_EVERY_MS,
    show(runs) {
      live = runs
      if (stop) control.show(runs.map(({ run }) => run))
      draw()
    },
    ended: (run) => print(endText(context, run)),
    print,
    end() {
      if (isOver) return
      block.clear()
      isOver = true
      stop?.()
    },
    async sent() {
      if (!control.isSending) return
      print('Waiting until the run is told of the keys; Ctrl-C ends that')
      await control.sent()
    },
  }
}

/** What became of a run that was watched. */
function endText({ hint }: CommandContext, { id, sync, state, message }: Run): string {
  const why = message === null ? '' : `: ${safeText(message, 300)}`
  return `Run ${id} of ${safeText(sync, 63)}: ${state}${why}. Its account: ${hint(`show ${id}`)}`
}

/** That there is nothing to watch, and what was last. */
function printNone(
  { terminal, hint }: CommandContext,
  latest: Run | undefined,
  sync: string | undefined,
): void {
  const of = sync === undefined ? '' : ` of ${safeText(sync, 63)}`
  const print = (text: string) => messageLines(text).forEach((line) => terminal.err(line))
  if (!latest) return print(`No run${of} is live, and none ever was`)
  const { id, state } = latest
  const which = sync === undefined ? `run ${id} of ${safeText(latest.sync, 63)}` : `run ${id}`
  print(`No run${of} is live. The latest, ${which}, is ${state}: ${hint(`show ${id}`)}`)
}
