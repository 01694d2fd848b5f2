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

/** One short line per event, for people. */
export function terminalLogger(terminal: Terminal, least: 'info' | 'warn' = 'info'): Logger {
  const write = (style: 'dim' | 'yellow' | 'red') => (fields: object, event: string) => {
    const facts = Object.entries(fields)
      .filter(([, value]) => value !== undefined && value !== null && typeof value !== 'object')
      .map(([name, value]) => `${name}=${safeText(String(value), 160)}`)
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
