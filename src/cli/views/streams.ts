// The streams of a mirror's run, as text and as JSON: what was done to each table, and whether it has as many rows as the
// service counts records.

import type { StreamBooks } from '../../ledger/ledger.ts'
import { formatNumber, safeText, table, wrapped, type Terminal } from '../shared/terminal.ts'

const ENDED: readonly StreamBooks['state'][] = ['complete', 'failed']

/** Streams with a name for a person: its table, or what it is called until it has one. */
const nameOf = (stream: StreamBooks): string => safeText(stream.table ?? stream.stream, 80)

/** Whether the service counts otherwise than the table; false where one of them is not counted. */
const differs = ({ serviceCount, tableCount }: StreamBooks): boolean =>
  serviceCount !== null && tableCount !== null && serviceCount !== tableCount

/** Sums over all streams of a run. */
export function streamTotals(streams: readonly StreamBooks[]) {
  const sum = (of: (stream: StreamBooks) => number) =>
    streams.reduce((total, stream) => total + of(stream), 0)
  return {
    ended: streams.filter(({ state }) => ENDED.includes(state)).length,
    read: sum(({ read }) => read),
    /** Rows that were inserted or have other content. */
    written: sum(({ inserted, changed }) => inserted + changed),
    deleted: sum(({ deleted }) => deleted),
    requests: sum(({ requests }) => requests),
  }
}

/** A line for each stream, then what a person should know about some of them. */
export function printStreams(terminal: Terminal, streams: readonly StreamBooks[]): void {
  if (streams.length === 0) {
    terminal.out('  No streams: the run ended before it knew what to mirror.')
    return
  }
  const isCounted = (stream: StreamBooks) =>
    stream.serviceCount === null || stream.tableCount === null ? '' : differs(stream) ? '≠' : '='
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
      stream.serviceCount,
      isCounted(stream),
      stream.tableCount,
    ]),
  )
  for (const line of lines.split('\n')) terminal.out(`  ${line}`)
  for (const stream of streams) {
    const style = stream.state === 'failed' ? 'red' : 'yellow'
    for (const note of notesOf(stream))
      for (const line of wrapped(`${nameOf(stream)}: ${note}`, 2))
        terminal.out(terminal.style(style, line))
  }
}

function notesOf(stream: StreamBooks): string[] {
  const { state, message, misfits, serviceCount, tableCount } = stream
  const notes: string[] = []
  if (stream.older !== undefined && stream.older > 0)
    notes.push(
      `${formatNumber(stream.older)} ${stream.older === 1 ? 'answer' : 'answers'} came late and changed nothing`,
    )
  if (message !== null) notes.push(safeText(message, 1_000))
  if (differs(stream) && state === 'complete' && stream.differs !== true)
    notes.push(
      `the service counts ${formatNumber(serviceCount!)} records, the table has ${formatNumber(tableCount!)} rows: what changes while it is read comes with the next run`,
    )
  if (misfits !== null && misfits > 0)
    notes.push(
      `${formatNumber(misfits)} ${misfits === 1 ? 'row has a value that did not fit its column; it is' : 'rows have values that did not fit their columns; they are'} in _misfits`,
    )
  return notes
}

/** A stream for programs. */
export const streamToJson = (stream: StreamBooks) => ({
  stream: stream.stream,
  table: stream.table,
  state: stream.state,
  mode: stream.mode,
  requests: stream.requests,
  read: stream.read,
  inserted: stream.inserted,
  changed: stream.changed,
  unchanged: stream.unchanged,
  deleted: stream.deleted,
  older: stream.older ?? null,
  reverted: stream.reverted ?? null,
  differs: stream.differs ?? null,
  misfits: stream.misfits,
  service_count: stream.serviceCount,
  table_count: stream.tableCount,
  message: stream.message,
})
