// How far a mirror's run is, for people: the query `progress`, and the table next to the run.

import type { StreamRef } from '../activities/index.ts'
import type { MirrorProgress } from './messages.ts'
import { tableCell, showRunStatus } from './run-status.ts'

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

/** Answers the queries from now on, from what its methods note. */
export function trackMirror(sync: string) {
  const standing = showRunStatus<MirrorProgress>(
    'mirror',
    { sync, run: null, step: 'open', streams: [], state: 'running', message: null },
    table,
  )
  return {
    standing,
    /** The streams that discovery found. */
    begin(streams: readonly StreamRef[]) {
      standing.note({
        streams: streams.map(({ kind, name }) => ({ kind, name, state: 'waiting' })),
      })
    },
    noteStream({ kind, name }: StreamRef, change: Pick<StreamProgress, 'state' | 'deletions'>) {
      const streams = standing
        .progress()
        .streams.map((stream) =>
          stream.kind === kind && stream.name === name ? { kind, name, ...change } : stream,
        )
      standing.note({ streams })
      const waits = streams.filter((stream) => stream.state === 'approval')
      const asked = waits.map(
        ({ kind, name, deletions }) =>
          `${streamLabel({ kind, name })}: ${deletions?.rows} of ${deletions?.of} rows`,
      )
      standing.noteWait(
        waits.length === 0 ? null : `deletions wait for approval: ${asked.join(', ')}`,
      )
    },
  }
}
