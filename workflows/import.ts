// The import, as a workflow: open, stage, push segment by segment, close (which verifies first). It carries names, ids
// and counts; rows and keys never enter its history.

import {
  CancellationScope,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow'
import type { Activities, SegmentRef } from '../activities/index.ts'
import { inLanes } from '../src/core/lanes.ts'
import { ImportInput, progressQuery, type ImportProgress, type ImportResult } from './messages.ts'
import { failure, messageOf, parseInput, SHORT, streamingOptions } from './run.ts'

type Streaming = Pick<Activities, 'stageImport' | 'pushSegment' | 'closeImport'>

const details = (progress: ImportProgress): string =>
  [
    `**${progress.sync}**: ${progress.step}, run ${progress.run ?? '–'}`,
    '',
    '| rows read | to send | segments |',
    '|--:|--:|--:|',
    `| ${progress.rows} | ${progress.planned} | ${progress.segments.done} of ${progress.segments.total} |`,
  ].join('\n')

/** Imports the rows of a sync's source. Input: `{"sync": "contacts"}`. */
export async function importSync(input?: unknown): Promise<ImportResult> {
  const { sync, tuning, priority } = parseInput(ImportInput, input, { sync: 'contacts' })
  let progress: ImportProgress = {
    sync,
    run: null,
    step: 'open',
    rows: 0,
    planned: 0,
    segments: { total: 0, done: 0 },
    requests: 0,
    state: 'running',
  }
  const note = (change: Partial<ImportProgress>) => {
    progress = { ...progress, ...change }
    setCurrentDetails(details(progress))
  }
  setHandler(progressQuery, () => progress, {
    description: 'Where the run is: step, rows, segments. Input: nothing.',
  })

  const short = proxyActivities<Pick<Activities, 'openImport'>>(SHORT)
  const streaming = proxyActivities<Streaming>(
    streamingOptions(priority, tuning.heartbeat_timeout_ms),
  )

  const run = await short.openImport.executeWithOptions({ summary: `open ${sync}` }, [{ sync }])
  note({ run, step: 'stage' })

  const pushSegment = async (segment: SegmentRef) => {
    const summary = `push ${sync}, rows ${segment.first} to ${segment.last}`
    // Bounded by the segment: each call sends for minutes, or ends it.
    for (let done = false; !done;) {
      const pushed = await streaming.pushSegment.executeWithOptions({ summary }, [
        { run, segment, tuning, priority },
      ])
      done = pushed.done
      note({ requests: progress.requests + pushed.requests })
    }
    note({ segments: { ...progress.segments, done: progress.segments.done + 1 } })
  }

  try {
    const staged = await streaming.stageImport.executeWithOptions({ summary: `stage ${sync}` }, [
      { run, tuning, priority },
    ])
    note({
      step: 'push',
      rows: staged.rows,
      planned: staged.planned,
      segments: { total: staged.segments.length, done: 0 },
    })
    await inLanes(staged.segments, tuning.segments_in_flight ?? 2, pushSegment)
    note({ step: 'close' })
    const closed = await streaming.closeImport.executeWithOptions(
      { summary: `verify and close ${sync}` },
      [{ run, ending: { kind: 'finished' }, tuning, priority }],
    )
    note({ step: 'closed', state: closed.state })
    if (closed.state === 'failed')
      throw failure(`Run ${run}: the books do not balance`, 'BooksUnbalanced')
    return { run, ...closed }
  } catch (error) {
    const cancelled = isCancellation(error)
    const ending = cancelled
      ? ({ kind: 'cancelled' } as const)
      : ({ kind: 'failed', message: messageOf(error) } as const)
    await CancellationScope.nonCancellable(async () => {
      const closed = await streaming.closeImport.executeWithOptions({ summary: `close ${sync}` }, [
        { run, ending, tuning, priority },
      ])
      note({ step: 'closed', state: closed.state })
    })
    throw error
  }
}
