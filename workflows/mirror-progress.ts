// Where a mirror's run is, for people: the query `progress`, and the table beside the run.

import { setCurrentDetails, setHandler } from '@temporalio/workflow'
import type { StreamRef } from '../activities/index.ts'
import { mirrorProgressQuery, type MirrorProgress } from './messages.ts'

type StreamProgress = MirrorProgress['streams'][number]

const namesMax = 20

/** What people call a stream. */
export const nameOf = ({ kind, name }: StreamRef): string =>
  kind === 'edges' ? `edges of ${name}` : name

function details({ sync, run, step, streams }: MirrorProgress): string {
  const rows = (['failed', 'approval', 'working', 'waiting', 'done'] as const).flatMap((state) => {
    const found = streams.filter((stream) => stream.state === state)
    if (found.length === 0) return []
    const names = found.slice(0, namesMax).map(nameOf)
    const rest = found.length > namesMax ? ' …' : ''
    return [`| ${state} | ${found.length} | ${names.join(', ')}${rest} |`]
  })
  const head = rows.length === 0 ? [] : ['', '| state | streams | names |', '|:--|--:|:--|']
  return [`**${sync}**: ${step}, run ${run ?? '–'}`, ...head, ...rows].join('\n')
}

/** Answers the query from now on, with what is noted here. */
export function trackMirror(sync: string) {
  let progress: MirrorProgress = { sync, run: null, step: 'open', streams: [], state: 'running' }
  setHandler(mirrorProgressQuery, () => progress, {
    description: 'Where the run is: step, and the state of each stream. Input: nothing.',
  })
  const note = (change: Partial<MirrorProgress>) => {
    progress = { ...progress, ...change }
    setCurrentDetails(details(progress))
  }
  return {
    note,
    /** The streams that discovery found. */
    begin(streams: readonly StreamRef[]) {
      note({ streams: streams.map(({ kind, name }) => ({ kind, name, state: 'waiting' })) })
    },
    noteStream({ kind, name }: StreamRef, change: Pick<StreamProgress, 'state' | 'deletions'>) {
      const streams = progress.streams.map((stream) =>
        stream.kind === kind && stream.name === name ? { kind, name, ...change } : stream,
      )
      const waits = streams.some(({ state }) => state === 'approval')
      note({ streams, state: waits ? 'blocked' : 'running' })
    },
  }
}
