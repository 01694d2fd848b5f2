// The notification of an event: what is posted, and in which words.

import { approveCommand } from '../core/domain/limit-exceeded.ts'
import { randomUUID } from 'node:crypto'
import type { NotificationKind } from '../../config/index.ts'
import { countLinkRejects, countNeedsPerson } from '../core/domain/books.ts'
import type { Clock } from '../core/ports.ts'
import type { RunChange } from '../runs/observers.ts'
import { knowsDifferences, type News } from './run-news.ts'

const MESSAGE_CHARS_MAX = 500

/** The JSON that is posted; `text` is what Slack and Mattermost show. */
export function notificationBody(news: News, event: NotificationKind, clock: Clock) {
  const { change, rejects, differences, announced } = news
  const { sync, kind, run, to: state, reason, workflowId } = change
  return {
    text: textOf(news, event),
    event,
    sync,
    kind,
    run,
    state,
    reason,
    message: event === 'deprecated' ? announced.join('; ') : messageOf(change),
    rejects,
    differences,
    workflow: workflowId,
    at: new Date(clock.now()).toISOString(),
    id: randomUUID(),
  }
}

function textOf(
  { change, rejects, differences, announced }: News,
  event: NotificationKind,
): string {
  const { sync, run, reason } = change
  const message = messageOf(change)
  const why = message === null ? '' : `: ${message}`
  const where = run === null ? '' : ` (run ${run})`
  const differs = `does not agree with the other side${where}${why}; "records-sync show ${run}" lists what differs`
  // The files of `rejects` have rows.
  const isOfLinks = change.books !== null && countNeedsPerson(change.books) === 0
  const ended =
    change.purpose === 'reconcile' || (rejects ?? 0) === 0
      ? differs
      : `ended with ${rejectsText(change, rejects ?? 0)}${where}; "records-sync ${isOfLinks ? 'show' : 'rejects'} ${run}" ${isOfLinks ? 'counts' : 'lists'} them${knowsDifferences(change, differences) ? `; it does not agree with the other side${why}` : ''}`
  const says = {
    blocked:
      reason === 'approval'
        ? `waits for approval${where}${why}. "records-sync ${approveCommand({ id: run!, message })}" or "records-sync reject ${run}" decides`
        : `is blocked by ${reason ?? 'something'}${where}${why}`,
    failed: run === null ? `could not be started${why}` : `failed${where}${why}`,
    rejects: ended,
    skipped: `did not begin${where}${why}`,
    differences: differs,
    recovered: change.to === 'running' ? `goes on${where}` : `succeeded again${where}`,
    deprecated: `uses an API that ends${where}`,
  } satisfies Record<NotificationKind, string>
  // In Slack these characters make links and mention people.
  return [`${sync} ${says[event]}`, ...announced]
    .join('; ')
    .replaceAll('<', '‹')
    .replaceAll('>', '›')
}

/** `3 rejected rows`, `2 rejected rows or links`, `1 rejected link`. */
function rejectsText({ books }: RunChange, rejects: number): string {
  const links = books ? countLinkRejects(books) : 0
  const noun = links === 0 ? 'row' : links === rejects ? 'link' : 'rows or link'
  return `${rejects} rejected ${noun}${rejects === 1 ? '' : 's'}`
}

/** One bounded line; a block's own message begins with what is already said. */
function messageOf({ reason, message }: RunChange): string | null {
  if (message === null) return null
  const prefix = `blocked: ${reason}: `
  const rest = message.startsWith(prefix) ? message.slice(prefix.length) : message
  return [...rest.replaceAll(/\s+/g, ' ').trim()].slice(0, MESSAGE_CHARS_MAX).join('')
}
