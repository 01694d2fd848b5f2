// The status of a run as people read it next to the run in the Temporal UI, in Markdown.

import type { BlockReason } from '../src/core/errors.ts'
import type { RunProgress } from './messages.ts'

const messageCharsMax = 300

/** What a person does about a run that is blocked. */
const NEXT: Readonly<Record<BlockReason, string>> = {
  auth: 'Put a working key where the configuration reads it. The run goes on by itself then.',
  permission: 'Grant the key what it lacks. The run goes on by itself then.',
  contract:
    'Read the reasons with `records-sync show`; cancel the run, mend the mapping, run again.',
  service: 'Nothing to do here: the service is asked again by itself.',
  ledger: 'Free the ledger. It is tried again by itself.',
  warehouse: 'Free the warehouse, or mend its connection. It is tried again by itself.',
  disk: 'Free some space. It is tried again by itself.',
  approval: 'More Actions → Send an Update → `approve` or `reject`.',
}

/** A text as one line, for a cell of a Markdown table. */
export const tableCell = (text: string): string =>
  text.replaceAll(/[\r\n|]+/g, ' ').slice(0, messageCharsMax)

/** What a person does next, if anything. */
function nextStep(
  kind: 'import' | 'mirror',
  progress: RunProgress,
  blockedBy: BlockReason,
): string | null {
  const { run, state, step } = progress
  const isCompared = kind === 'mirror' || 'found' in progress
  const differs = `What differs: \`records-sync show ${run}\``
  switch (state) {
    case 'paused':
      return 'More Actions → Send an Update → `resume`.'
    case 'blocked':
      return NEXT[blockedBy]
    case 'complete_with_rejects':
      return isCompared ? differs : `The rejects: \`records-sync rejects ${run}\``
    case 'complete_with_differences':
      return differs
    case 'running':
    case 'complete':
    case 'cancelled':
    case 'failed':
    case 'skipped':
      return step === 'closed' ? `The books: \`records-sync show ${run}\`` : null
  }
}

/** @param table the lines below the headline */
export function statusText(
  kind: 'import' | 'mirror',
  progress: RunProgress,
  blockedBy: BlockReason,
  { table, backfillUrl }: { table: readonly string[]; backfillUrl: string },
): string {
  const { sync, step, run, state, message } = progress
  const words = state.replaceAll('_', ' ')
  const at = step === 'closed' ? `**${words}**` : `${step}, **${words}**`
  const lines = [message, nextStep(kind, progress, blockedBy)].flatMap((line) =>
    line === null ? [] : ['', tableCell(line)],
  )
  const link = `[Backfill ${sync}](${backfillUrl})`
  // The UI cuts off the last line of the details, so the last line is empty.
  const text = [`**${sync}**, run ${run ?? '–'}: ${at}`, ...lines, ...table, '', link]
  return [...text, '', '\u00a0'].join('\n')
}
