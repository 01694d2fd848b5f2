// `records-sync conform`: runs the conformance kit and prints the result of each rule. Exit code 0 if nothing is broken, 1 if
// something is, 2 if the kit could not run, or could not write what --write allowed.

import { resolve } from 'node:path'
import { readSecret, type SecretSource } from '../../../config/index.ts'
import * as kit from '../../conform/index.ts'
import type { ConformReport, RuleResult } from '../../conform/index.ts'
import { SyncError } from '../../core/errors.ts'
import { namesOf } from '../../core/register.ts'
import { keyFileProblem } from '../shared/key-file.ts'
import { EXIT, reportError, type CommandContext } from '../shared/context.ts'
import {
  elapsedText,
  formatNumber,
  printWrapped,
  safeText,
  type Terminal,
} from '../shared/terminal.ts'
import { printJson } from '../json.ts'

export interface ConformCommandOptions {
  readonly service: string
  readonly key?: string
  readonly keyEnv?: string
  readonly keyFile?: string
  readonly otherKey?: string
  readonly write: readonly string[]
  readonly keyInQuery?: boolean
  readonly requests: number
}

const DEFAULT_KEY = { env: 'RECORDS_API_KEY' }

export async function conformCommand(
  context: CommandContext,
  options: ConformCommandOptions,
): Promise<number> {
  const { terminal, json } = context
  const stop = new AbortController()
  const onSignal = () => {
    terminal.err('Stopping: what was made is removed first. Again to stop at once.')
    stop.abort(new Error('stopped'))
  }
  // Once: a second signal ends the process.
  process.once('SIGINT', onSignal)
  process.once('SIGTERM', onSignal)
  try {
    const otherPlace =
      options.otherKey === undefined ? null : placeOf('other-key', options.otherKey)
    const made = await kit.runConformance({
      service: options.service,
      key: await readSecret(keyPlace(options), context.env),
      ...(otherPlace ? { otherKey: await readSecret(otherPlace, context.env) } : {}),
      write: [...new Set(options.write)],
      ...(options.keyInQuery ? { keyInQuery: true } : {}),
      requestsMax: options.requests,
      signal: stop.signal,
      progress: ({ done, total, requests, text }) => {
        if (!json) terminal.live(`${done}/${total} rules, ${requests} requests  ${text}`)
      },
    })
    terminal.endLive()
    if (json) printJson(terminal, asJson(made))
    else print(terminal, made)
    if (made.interrupted) return EXIT.usage
    if (made.rules.some(({ verdict }) => verdict.kind === 'broken')) return EXIT.rejects
    return made.unprepared.length > 0 ? EXIT.usage : EXIT.done
  } catch (error) {
    terminal.endLive()
    reportError(error, context)
    return EXIT.usage
  } finally {
    process.off('SIGINT', onSignal)
    process.off('SIGTERM', onSignal)
  }
}

/** @throws SyncError `conform_options` */
function keyPlace({ key, keyEnv, keyFile }: ConformCommandOptions): SecretSource {
  const places = [
    ...(key === undefined ? [] : [placeOf('key', key)]),
    ...(keyEnv === undefined ? [] : [{ env: keyEnv }]),
    ...(keyFile === undefined ? [] : [{ file: resolve(keyFile) }]),
  ]
  if (places.length > 1) {
    const message = 'Give one of --key, --key-env and --key-file'
    throw new SyncError('conform_options', message)
  }
  return places[0] ?? DEFAULT_KEY
}

/** Never shows what was given: it may be a key. @throws SyncError `conform_options` */
function placeOf(option: string, text: string): SecretSource {
  const [, kind, rest = ''] = /^(env|file):(.+)$/s.exec(text) ?? []
  if (kind === 'env') return { env: rest }
  if (kind === 'file') {
    const problem = keyFileProblem(rest)
    if (problem !== null) throw new SyncError('conform_options', `--${option}: ${problem}`)
    return { file: resolve(rest) }
  }
  throw new SyncError(
    'conform_options',
    `--${option}: env:NAME or file:PATH was expected. A key itself is not taken: every process of the machine could read it`,
  )
}

const words = {
  kept: 'kept',
  broken: 'broken',
  not_applicable: 'not applicable',
  unchecked: 'could not be checked',
} as const

function totalsOf(rules: readonly RuleResult[]): Record<keyof typeof words, number> {
  const totals = { kept: 0, broken: 0, not_applicable: 0, unchecked: 0 }
  for (const { verdict } of rules) totals[verdict.kind] += 1
  return totals
}

function asJson(made: ConformReport) {
  const { rules, requestsMax, waitedMs, ...rest } = made
  const totals = totalsOf(rules)
  return {
    ...rest,
    requests_max: requestsMax,
    waited_ms: waitedMs,
    ok: totals.broken === 0 && made.unprepared.length === 0 && !made.interrupted,
    totals,
    rules: rules.map(({ id, section, text, verdict: { kind, ...facts } }) => {
      if (!('evidence' in facts)) return { id, section, text, verdict: kind, ...facts }
      const { requestId, ...shown } = facts.evidence
      const evidence = { ...shown, request_id: requestId }
      return { id, section, text, verdict: kind, note: facts.note, evidence }
    }),
  }
}

function print(terminal: Terminal, made: ConformReport): void {
  terminal.out(`Conformance of ${terminal.style('bold', safeText(made.service))}`)
  if (made.write.length === 0) {
    terminal.out('Read-only: with --write TYPE the rules about writing are checked too.')
  }
  for (const [section, title] of Object.entries(kit.SECTION_TITLES)) {
    const rules = made.rules.filter((rule) => rule.section.split('.')[0] === section)
    terminal.out()
    terminal.out(
      `${terminal.style('bold', `${section}  ${title}`)}  ${terminal.style('dim', summary(rules))}`,
    )
    for (const rule of rules) printRule(terminal, rule)
  }
  printEnd(terminal, made)
}

const styles = {
  kept: ['green', 'kept'],
  broken: ['red', 'BROKEN'],
  not_applicable: ['dim', 'n/a'],
  unchecked: ['yellow', 'not checked'],
} as const
const indent = 14

function printRule(terminal: Terminal, { id, text, verdict }: RuleResult): void {
  const [style, word] = styles[verdict.kind]
  const head = `  ${terminal.style(style, word.padEnd(indent - 2))}`
  printWrapped(terminal, safeText(`${id}  ${text}`, 1_000), { indent, head })
  const say = (line: string) =>
    printWrapped(terminal, safeText(line, 1_000), { indent, style: 'dim' })
  if (verdict.kind === 'kept') return
  if (verdict.kind !== 'broken') return say(verdict.why)
  const { request, status, requestId, sent, at, expected, got } = verdict.evidence
  const named = requestId === null ? '' : `, request ${requestId}`
  say(`${request} was answered ${status}${named}`)
  if (sent !== '') say(`sent      ${sent}`)
  if (at !== '') say(`at        ${at}`)
  say(`expected  ${expected}`)
  say(`got       ${got}`)
  if (verdict.note !== '') say(`in        ${verdict.note}`)
}

/** `12 kept, 1 broken` */
function summary(rules: readonly RuleResult[]): string {
  const totals = totalsOf(rules)
  const occurring = namesOf(words).filter((kind) => totals[kind] > 0)
  return occurring.map((kind) => `${totals[kind]} ${words[kind]}`).join(', ')
}

function printEnd(terminal: Terminal, made: ConformReport): void {
  terminal.out()
  if (made.interrupted)
    terminal.out(terminal.style('yellow', 'The run was stopped before its end.'))
  const wait = made.waitedMs >= 1_000 ? `, ${elapsedText(made.waitedMs)} waiting for the quota` : ''
  terminal.out(`${made.rules.length} rules: ${terminal.style('bold', summary(made.rules))}`)
  terminal.out(
    `${formatNumber(made.requests)} requests of at most ${formatNumber(made.requestsMax)}${wait}`,
  )
  for (const { object_type, why } of made.unprepared) {
    const message = `${object_type}: the rules about writing were not checked, no scratch record could be made: ${why}`
    printWrapped(terminal, safeText(message, 2_000), { style: 'red' })
  }
  if (made.marker === null) return
  terminal.out(
    `${formatNumber(made.removed)} scratch records, marked ${made.marker}, were made and removed`,
  )
  for (const { object_type, ids, unsure } of made.leftovers) {
    const what = ids.length > 0 ? `could not be removed: ${ids.join(', ')}` : unsure
    terminal.out(terminal.style('red', safeText(`${object_type}: ${what}`, 2_000)))
  }
}
