// The log of a worker on a terminal: a short line for each event.

import { expect, test } from 'vitest'
import { terminalLogger } from '../../../src/cli/shared/logging.ts'

function logged(least: 'info' | 'warn') {
  const lines: string[] = []
  const logger = terminalLogger(
    {
      out: () => {},
      err: (line = '') => void lines.push(line.slice('00:00:00 '.length)),
      live: () => {},
      endLive: () => {},
      style: (_, text) => text,
    },
    least,
  )
  logger.info({ run: 1, sync: 'contacts' }, 'run_opened')
  logger.warn({ warnings: ['no OpenAPI document', 'the usual ones'] }, 'operations_resolved')
  logger.warn({ run: 1, error: null, more: { a: 1 } }, 'doubts_not_settled')
  return lines
}

test('has the events of a worker, lists of texts included', () => {
  expect(logged('info')).toEqual([
    'run_opened run=1 sync=contacts',
    'operations_resolved warnings=no OpenAPI document; the usual ones',
    'doubts_not_settled run=1',
  ])
})

test('has beside a command only what nothing else says', () => {
  expect(logged('warn')).toEqual(['doubts_not_settled run=1'])
})
