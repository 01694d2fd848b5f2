// How far a mirror's run is, for people: the query `progress`, and the table next to the run.

import type { StreamRef } from '../activities/index.ts'
import type { MirrorProgress } from './messages.ts'
import { RunStatus } from './run-status.ts'
import { tableCell } from './status-text.ts'

type StreamProgress = MirrorProgress['streams'][number]

const namesMax = 20

/** The name that people see for a stream. */
export const streamLabel = ({ kind, name }: StreamRef): string =>
  kind === 'edges' ? `edges of ${name}` : name

function table({ streams }: MirrorProgress): string[] {
  const rows = (['failed', 'approval', 'working', 'waiting', 'done'] as const).flatMap((state) => {
    const found = streams.filter((stream) => stream.state === state)
    if (found.length === 0) return []
    const names = found.slice(0, namesMax).map(streamLabel)
    const rest = found.length > namesMax ? ' …' : ''
    return [`| ${state} | ${found.length} | ${tableCell(names.join(', '))}${rest} |`]
  })
  return rows.length === 0 ? [] : ['', '| state | tables | names |', '|:--|--:|:--|', ...rows]
}

/** The status of a mirror's run, with the state of each stream. */
export class MirrorStatus extends RunStatus<MirrorProgress> {
  constructor(sync: string) {
    super(
      'mirror',
      { sync, run: null, step: 'open', streams: [], state: 'running', message: null },
      table,
    )
  }

  /** The streams that discovery found. */
  noteStreams(streams: readonly StreamRef[]): void {
    this.note({ streams: streams.map(({ kind, name }) => ({ kind, name, state: 'waiting' })) })
  }

  noteStream({ kind, name }: StreamRef, change: Pick<StreamProgress, 'state' | 'deletions'>): void {
    const streams = this.progress.streams.map((stream) =>
      stream.kind === kind && stream.name === name ? { kind, name, ...change } : stream,
    )
    this.note({ streams })
    const asked = streams
      .filter(({ state }) => state === 'approval')
      .map(
        (stream) =>
          `${streamLabel(stream)}: ${stream.deletions?.rows} of ${stream.deletions?.of} rows`,
      )
    this.noteWait(asked.length === 0 ? null : `deletions wait for approval: ${asked.join(', ')}`)
  }
}
