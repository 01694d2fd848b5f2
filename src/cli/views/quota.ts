// The quota of one org on the screen: first what is, as a bar; then why; then who, and what to expect.
// Promise kept here: no line is longer than the width that was asked for, but for a single long word.

import { UNLIMITED_PER_MINUTE } from '../../client/pacer/memory.ts'
import { deprecationText } from '../../client/deprecation.ts'
import type { QuotaView } from '../../client/pacer/view.ts'
import { BATCH_ITEMS_MAX } from '../../contract/index.ts'
import { BULK_PRIORITIES, PRIORITIES, type Priority } from '../../core/ports.ts'
import { lookUpsOfBatch } from '../../resources/run-quota.ts'
import { percentOfShare } from '../shared/forecast.ts'
import { refusalsText } from '../shared/run-quota.ts'
import {
  elapsedText,
  formatNumber,
  printWrapped,
  safeText,
  table,
  utc,
  type Terminal,
} from '../shared/terminal.ts'

interface Screen {
  /** The store's time. */
  readonly nowMs: number
  /** Columns. */
  readonly width: number
}

const indent = 2
const labelChars = 11
const usersMax = 20
/** An org without requests for longer is quiet. */
const quietMs = 60_000
/** Refusals a thousand requests above which something is wrong. */
const refusalsPer1000Max = 2

const minute = 'requests a minute'

export function printQuota(terminal: Terminal, view: QuotaView, screen: Screen): void {
  const { width } = screen
  printWrapped(terminal, safeText(view.org, 300), { width, style: 'bold' })
  printState(terminal, view, screen)
  printBar(terminal, view, width)
  terminal.out()
  for (const { label, text, style } of factsOf(view, screen)) {
    const head = ' '.repeat(indent) + label.padEnd(labelChars)
    printWrapped(terminal, safeText(text, 500), { indent: head.length, width, style, head })
  }
  printUsers(terminal, view, screen)
  printExpected(terminal, view, screen)
}

/** The one line that shows whether anything needs attention. */
function printState(terminal: Terminal, view: QuotaView, { nowMs, width }: Screen): void {
  const say = (style: 'red' | 'dim' | 'yellow' | 'green', text: string) =>
    printWrapped(terminal, text, { indent, width, style })
  const { closedUntilMs, limitPerMinute: limit, lastMinute } = view
  const refused = refusalsText(view, nowMs)
  if (refused !== null) say('red', refused)
  if (closedUntilMs !== null) {
    const why = view.isClosedForLong
      ? 'the service asked for a longer wait than a quota a minute can need; one request asks then'
      : 'the service asked to wait'
    return say('red', `closed for ${elapsedText(closedUntilMs - nowMs)}: ${why}`)
  }
  const quietForMs = quietFor(view, nowMs)
  if (quietForMs > 0) return say('dim', `quiet: no request for ${elapsedText(quietForMs)}`)
  if (limit === null) return say('yellow', 'in use; the limit is not known yet')
  if (limit >= UNLIMITED_PER_MINUTE) return say('green', 'in use, without a limit')
  const used = Math.round(((lastMinute.ours + lastMinute.others) / Math.max(1, limit)) * 100)
  say('green', `in use: ${used} % of the limit in the last minute`)
}

/** How long ago the last request was; 0 if that is within the last minute. */
function quietFor(view: QuotaView, nowMs: number): number {
  const seenMs = Math.max(view.totals.sinceMs, ...view.users.map((user) => user.lastSeenMs))
  return nowMs - seenMs > quietMs ? nowMs - seenMs : 0
}

/** The last minute: what was ours, what others used, what was free, and what of that is kept for others. */
function printBar(terminal: Terminal, view: QuotaView, width: number): void {
  const { limitPerMinute: limit, lastMinute } = view
  const { ours, others } = lastMinute
  if (limit === null || limit >= UNLIMITED_PER_MINUTE) return
  const unused = Math.max(0, limit - ours - others)
  const kept = Math.min(unused, Math.max(0, Math.round(view.reserve * limit) - others))
  const parts = [
    { requests: ours, sign: '█', style: 'cyan', name: 'ours' },
    { requests: others, sign: '▒', style: 'yellow', name: 'others, estimated' },
    { requests: unused - kept, sign: '░', style: 'dim', name: 'free' },
    { requests: kept, sign: '·', style: 'dim', name: 'kept for others' },
  ] as const
  const cells = (width - indent) / Math.max(1, limit, ours + others)
  let before = 0
  const bar = parts.map(({ requests, sign, style }) => {
    const count = Math.round((before + requests) * cells) - Math.round(before * cells)
    before += requests
    return terminal.style(style, sign.repeat(count))
  })
  terminal.out(' '.repeat(indent) + bar.join(''))
  const legend = parts
    .filter(({ requests, name }) => requests > 0 || name === 'ours' || name === 'free')
    .map(({ requests, sign, name, style }) => {
      const text = `${formatNumber(requests)} ${name}`
      return { length: text.length + 2, shown: `${terminal.style(style, sign)} ${text}` }
    })
  const fits = legend.reduce((sum, { length }) => sum + length + 3, indent - 3) <= width
  const shown = legend.map((part) => part.shown)
  for (const line of fits ? [shown.join('   ')] : shown) terminal.out(' '.repeat(indent) + line)
}

interface Fact {
  readonly label: string
  readonly text: string
  readonly style?: 'red' | 'yellow'
}

function factsOf(view: QuotaView, { nowMs }: Screen): Fact[] {
  const { limitPerMinute: limit, closedUntilMs, remaining, reserve, totals } = view
  const { remainingIgnoredUntilMs: ignoredUntilMs } = view
  const guessed = view.isLimitGuessed ? ', guessed from refusals: no answer has it' : ''
  const facts: Fact[] = [{ label: 'limit', text: `${limitInWords(limit)}${guessed}` }]
  const isLimited = limit !== null && limit < UNLIMITED_PER_MINUTE
  if (closedUntilMs !== null)
    facts.push({ label: 'closed', text: `until ${utc(closedUntilMs, nowMs)}`, style: 'red' })
  if (isLimited) facts.push({ label: 'window', text: windowInWords(view, nowMs) })
  if (isLimited && remaining !== null)
    facts.push({
      label: 'remaining',
      text: `${formatNumber(remaining)}${quietFor(view, nowMs) > 0 ? ' when last asked' : ', as the newest answer said'}`,
    })
  if (isLimited && ignoredUntilMs !== null) {
    const until = `not believed until ${utc(ignoredUntilMs, nowMs)}, or until it moves`
    const text = `${until}: it did not change with our requests, which are counted here instead`
    facts.push({ label: 'remaining', text, style: 'yellow' })
  }
  if (isLimited && reserve > 0) {
    const kept = formatNumber(Math.round(reserve * limit))
    const text = `${percentOfShare(reserve)} %: ${kept} ${minute} are kept for people and other applications`
    facts.push({ label: 'reserve', text })
  }
  if (view.deprecation !== null)
    facts.push({ label: 'api', text: deprecationText(view.deprecation, nowMs), style: 'yellow' })
  const { requests, refused, unavailable } = totals
  const since = `since ${utc(totals.sinceMs, nowMs)}`
  facts.push({ label: 'requests', text: `${formatNumber(requests)} ${since}` })
  facts.push({
    label: 'refused',
    text: `${countAndRate(refused, requests, 429)}, ${countAndRate(unavailable, requests, 503)}`,
    ...(refused > (requests * refusalsPer1000Max) / 1_000 ? { style: 'yellow' } : {}),
  })
  return facts
}

function limitInWords(limit: number | null): string {
  if (limit === null) return 'not known before the first answer'
  if (limit >= UNLIMITED_PER_MINUTE) return `none to speak of (${formatNumber(limit)} ${minute})`
  return `${formatNumber(limit)} ${minute}`
}

function windowInWords({ regime, resetsAtMs, limitPerMinute }: QuotaView, nowMs: number): string {
  switch (regime) {
    case 'learning':
      return 'still learning its kind: that takes about a minute of steady use'
    case 'rolling':
      return 'rolling 60 s: every request counts for a minute'
    case 'bucket':
      return `bucket: it refills evenly, ${Number(((limitPerMinute ?? 0) / 60).toFixed(2))} requests a second`
    case 'window': {
      if (resetsAtMs === null) return 'fixed window'
      const [from, to] = [utc(resetsAtMs.from, nowMs), utc(resetsAtMs.to, nowMs)]
      const when = from === to ? `at ${to}` : `between ${from.replace(' UTC', '')} and ${to}`
      return `fixed window, next reset ${when}, in ${elapsedText(resetsAtMs.to - nowMs)}`
    }
  }
}

/** `3 with 429 (0.2 per 1,000)` */
function countAndRate(count: number, requests: number, status: number): string {
  const text = `${formatNumber(count)} with ${status}`
  if (count === 0) return text
  const rate = (count * 1_000) / requests
  return `${text} (${rate < 0.05 ? 'under 0.1' : rate.toFixed(1)} per 1,000)`
}

function printUsers(terminal: Terminal, view: QuotaView, { width }: Screen): void {
  const dim = (text: string) => printWrapped(terminal, text, { indent, width, style: 'dim' })
  const sum = (counts: Readonly<Record<Priority, number>>) =>
    PRIORITIES.reduce((total, priority) => total + counts[priority], 0)
  const busy = view.users.filter(({ lastMinute, waiting }) => sum(lastMinute) + sum(waiting) > 0)
  const idle = view.users.length - busy.length
  const nameChars = width - indent - '  interactive  last minute  waiting'.length
  const rows = busy
    .slice(0, usersMax)
    .flatMap(({ name, lastMinute, waiting }) =>
      PRIORITIES.filter((priority) => lastMinute[priority] + waiting[priority] > 0).map(
        (priority, index) => [
          index === 0 ? safeText(name, nameChars) : '',
          priority,
          lastMinute[priority],
          waiting[priority],
        ],
      ),
    )
  if (rows.length > 0) printTable(terminal, ['who', 'for', 'last minute', 'waiting'], rows)
  else terminal.out()
  if (busy.length === 0) return dim(`no process at work, ${idle} idle`)
  const rest = [
    ...(busy.length > usersMax ? [`${busy.length - usersMax} more at work`] : []),
    ...(idle > 0 ? [`${idle} idle`] : []),
  ]
  if (rest.length > 0) dim(`not shown: ${rest.join(', ')}`)
}

function printExpected(terminal: Terminal, view: QuotaView, { nowMs, width }: Screen): void {
  const { available, limitPerMinute: limit } = view
  if (available === null || limit === null) return
  if (limit >= UNLIMITED_PER_MINUTE) return
  const rows = BULK_PRIORITIES.map((priority) => [
    priority,
    available[priority],
    available[priority] * BATCH_ITEMS_MAX,
  ])
  printTable(terminal, ['can expect', minute, 'rows a minute'], rows)
  if (view.closedUntilMs !== null && !view.isClosedForLong)
    terminal.out(
      terminal.style('dim', `${' '.repeat(indent)}from ${utc(view.closedUntilMs, nowMs)} on`),
    )
  const looked = formatNumber(rowsLookedUp(available.import))
  const rate = `rows: at ${BATCH_ITEMS_MAX} rows a request; about ${looked} of an import that looks them up first (keep_before, a protection, a plan)`
  printWrapped(terminal, rate, { indent, width, style: 'dim' })
}

/** Rows a minute that are looked up before they are sent. */
const rowsLookedUp = (perMinute: number): number =>
  Math.floor((perMinute * BATCH_ITEMS_MAX) / (1 + lookUpsOfBatch(perMinute)))

function printTable(
  terminal: Terminal,
  header: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): void {
  terminal.out()
  for (const line of table(header, rows).split('\n')) terminal.out(' '.repeat(indent) + line)
}
