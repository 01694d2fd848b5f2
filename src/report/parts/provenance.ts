// Where the run's data came from, for people who must prove it.

import { html, type Markup } from '../escape.ts'
import { countText } from '../format.ts'
import type { ProvenanceReport } from '../run-report.ts'
import { part, SHOWN_MAX } from './part.ts'

export function provenancePart(facts: ProvenanceReport, audit: string): Markup {
  const { manifest, warnings, workflow_url: url } = facts
  const code = (text: string | null) => text && html`<span class="code">${text}</span>`
  const link =
    url !== null &&
    /^https?:\/\//.test(url) &&
    html` <a href="${url}" rel="noreferrer noopener">open in the Temporal UI</a>`
  const fingerprint = facts.key_fingerprint && `key#${facts.key_fingerprint}`
  const rows: readonly (readonly [string, Markup | string | null])[] = [
    ['From', facts.from],
    ['To', facts.to],
    ['Source, SHA-256', code(facts.source_digest)],
    ['Key, fingerprint', code(fingerprint)],
    ['Workflow', html`${code(facts.workflow_id)}${link}`],
    ['Workflow run', code(facts.workflow_run_id)],
    ...(manifest
      ? ([
          ['Manifest, SHA-256', code(manifest.digest)],
          ['Manifest before it', code(manifest.previous) ?? 'none: the first of the sync'],
          ['Signature', manifest.signed ? 'signed' : 'none: the ledger has no signing key'],
        ] as const)
      : []),
    ['Warnings', warnings.length > 0 ? warningList(warnings) : null],
  ]
  return part(
    'provenance',
    'Origin and proof',
    null,
    html`<dl class="facts">
        ${rows.map(
          ([name, value]) =>
            value !== null &&
            html`<dt>${name}</dt>
              <dd>${value}</dd>`,
        )}
      </dl>
      <p class="note">
        The ledger, and the chain of its manifests, is checked by <code>${audit}</code>.
      </p>`,
  )
}

function warningList(warnings: readonly string[]): Markup {
  const list = (some: readonly string[]) =>
    html`<ul class="plain">
      ${some.map((text) => html`<li>${text}</li>`)}
    </ul>`
  const more = warnings.slice(SHOWN_MAX)
  return html`${list(warnings.slice(0, SHOWN_MAX))}${
    more.length > 0 &&
    html`<details>
      <summary>${countText(more.length, 'more warning')}</summary>
      ${list(more)}
    </details>`
  }`
}
