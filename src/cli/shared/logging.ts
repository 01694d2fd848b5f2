// The log of a worker: JSON lines on standard error, or short lines on a terminal. Events have stable names; no key, no
// record and no property value is ever in one.

import { pino } from 'pino'
import type { Logger } from '../../core/ports.ts'
import { safeText, type Terminal } from './terminal.ts'

/** JSON lines for collectors. `RECORDS_SYNC_LOG` sets the level; default `info`. */
export function jsonLogger(level = process.env['RECORDS_SYNC_LOG'] ?? 'info'): Logger {
  return pino(
    { level, base: null, messageKey: 'event', timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination(2),
  )
}

/** What `check` says in sentences: beside a command of a person it would be a line that nobody asked for. */
const BESIDE_NO_COMMAND: ReadonlySet<string> = new Set(['operations_resolved'])

const isText = (value: unknown): value is string => typeof value === 'string'

/** A list of texts is one text; what else has parts has no place in a line. */
const shownFact = (value: unknown): string | null =>
  Array.isArray(value) && value.length > 0 && value.every(isText)
    ? value.join('; ')
    : value === null || value === undefined || typeof value === 'object'
      ? null
      : String(value)

/** One short line per event, for people. */
export function terminalLogger(terminal: Terminal, least: 'info' | 'warn' = 'info'): Logger {
  const write = (style: 'dim' | 'yellow' | 'red') => (fields: object, event: string) => {
    if (least === 'warn' && BESIDE_NO_COMMAND.has(event)) return
    const facts = Object.entries(fields).flatMap(([name, value]) => {
      const text = shownFact(value)
      return text === null ? [] : [`${name}=${safeText(text, 160)}`]
    })
    terminal.err(
      terminal.style(
        style,
        `${new Date().toISOString().slice(11, 19)} ${event} ${facts.join(' ')}`,
      ),
    )
  }
  return {
    debug() {},
    info: least === 'info' ? write('dim') : () => {},
    warn: write('yellow'),
    error: write('red'),
  }
}
