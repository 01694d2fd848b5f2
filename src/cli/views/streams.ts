// The streams of a mirror's run, as text: what was done to each table, and whether it has as many rows as the
// service counts records.

import { countsDiffer } from '../../report/account.ts'
import type { StreamReport } from '../../report/run-report.ts'
import {
  countText,
  formatNumber,
  outputWidth,
  printWrapped,
  safeText,
  table,
  type Terminal,
} from '../shared/terminal.ts'

/** The table of a stream, or what the stream is called until it has one. */
const nameOf = (stream: StreamReport): string => safeText(stream.table ?? stream.stream, 80)

/** A line for each stream, then what a person should know about some of them. */
export function printStreams(terminal: Terminal, streams: readonly StreamReport[]): void {
  if (streams.length === 0) {
    terminal.out('  No streams: the run does not know yet, or did not learn, what to mirror.')
    return
  }
  const isCounted = ({ service_count, table_count }: StreamReport) =>
    service_count !== null && table_count !== null
  const signOf = (stream: StreamReport) =>
    countsDiffer(stream) ? '≠' : isCounted(stream) ? '=' : ''
  const lines = table(
    [
      'table',
      'state',
      'mode',
      'read',
      'inserted',
      'changed',
      'deleted',
      'requests',
      'service counts',
      '',
      'rows',
    ],
    streams.map((stream) => [
      nameOf(stream),
      stream.state,
      stream.mode,
      stream.read,
      stream.inserted,
      stream.changed,
      stream.deleted,
      stream.requests,
      stream.service_count,
      signOf(stream),
      stream.table_count,
    ]),
    outputWidth() - 2,
  )
  for (const line of lines.split('\n')) terminal.out(`  ${line}`)
  for (const stream of streams) {
    const style = stream.state === 'failed' ? 'red' : 'yellow'
    for (const note of notesOf(stream))
      printWrapped(terminal, `${nameOf(stream)}: ${note}`, { indent: 2, style })
  }
}

function notesOf(stream: StreamReport): string[] {
  const { state, message, misfits, service_count: theirs, table_count: ours } = stream
  const notes: string[] = []
  if (stream.older !== null && stream.older > 0)
    notes.push(`${countText(stream.older, 'answer')} came late and changed nothing`)
  if (message !== null) notes.push(safeText(message, 1_000))
  if (countsDiffer(stream) && state === 'complete' && stream.differs !== true)
    notes.push(
      `the service counts ${formatNumber(theirs!)} records, the table has ${formatNumber(ours!)} rows: what changes while it is read comes with the next run`,
    )
  if (misfits !== null && misfits > 0)
    notes.push(
      `${formatNumber(misfits)} ${misfits === 1 ? 'row has a value that did not fit its column; it is' : 'rows have values that did not fit their columns; they are'} in _misfits`,
    )
  return notes
}
