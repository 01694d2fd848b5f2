// The page of a sync.

import { html, type Markup } from '../../report/escape.ts'
import { durationText, formatNumber } from '../../report/format.ts'
import { countsDiffer } from '../../report/account.ts'
import { part, tableHead } from '../../report/parts/part.ts'
import { swatch } from '../../report/charts.ts'
import { agoText, TEXT } from '../texts.ts'
import type { RunBar } from '../views/shapes.ts'
import type { SyncView } from '../views/sync.ts'
import { actionLogPart, offersPart } from './actions.ts'
import { liveBlock } from './live.ts'
import { historyChart, needBody, PART_NAMES } from './overview.ts'
import { cardsTable, facts, figures, inPath, stateOf, texts, timeOf } from './parts.ts'
import { schemaChangesPart } from './schema-changes.ts'

export function syncMain(data: SyncView): Markup {
  const { summary, mapping, tables } = data
  const { sync, kind, tone, state, run, live, attention } = summary
  return html`<p class="kind">${TEXT.kinds[kind]}</p>
    <h1>${sync}</h1>
    <p class="when">
      ${stateOf(tone, state.replaceAll('_', ' '))}
      ${run !== null && html` · <a href="/runs/${run}">${TEXT.run(run)}</a>`}
    </p>
    ${
      attention !== null &&
      html`<div class="need alone t-${attention.tone}">
        <h2 class="h3">${stateOf(attention.tone, attention.words)}</h2>
        ${needBody(attention)}
      </div>`
    }
    ${
      live !== null &&
      html`<section class="part" aria-labelledby="progress">
        <h2 id="progress">${TEXT.progress}</h2>
        <div id="run-live-${run}">${liveBlock(live)}</div>
      </section>`
    }
    ${offersPart(data.actions)} ${historyPart(data)} ${whenPart(data)}
    ${mapping !== null && mappingPart(mapping)}
    ${tables !== null && tables.length > 0 && tablesPart(tables, Date.parse(data.made_at))}
    ${schemaChangesPart(data.schema_changes ?? [], 'sync')} ${actionLogPart(data.log)}
    ${runsPart(data)}`
}

const HISTORY_ROOM = 20

const highestOf = (history: readonly RunBar[]): number =>
  Math.max(
    0,
    ...history.map(({ parts }) =>
      parts === null ? 0 : PART_NAMES.reduce((sum, name) => sum + parts[name], 0),
    ),
  )

function historyPart({ history, summary }: SyncView): Markup | false {
  if (history.length === 0) return false
  const room = Math.max(HISTORY_ROOM, history.length)
  const highest = highestOf(history)
  const there = PART_NAMES.filter((name) => history.some(({ parts }) => (parts?.[name] ?? 0) > 0))
  return part(
    'history',
    TEXT.history,
    TEXT.historyLead(history.length),
    html`${highest > 0 && html`<p class="soft small axis">${TEXT.upToRows(highest)}</p>`}
      <div class="tall">${historyChart(summary.sync, history, room)}</div>
      <p class="soft small axis ends${history.length >= HISTORY_ROOM ? ' wide' : ''}">
        ${timeOf(history[0]!.opened_at, 'short')}
        ${history.length > 1 && html`<span>– ${timeOf(history.at(-1)!.opened_at, 'short')}</span>`}
      </p>
      <ul class="legend">
        ${there.map((name) => html`<li>${swatch(name)}${name}</li>`)}
      </ul>`,
  )
}

function whenPart({ summary, schedule, from, to, mode, after }: SyncView): Markup {
  const { freshness, schedule: state, verified_through: verified, differences_left: left } = summary
  return part(
    'settings',
    TEXT.settings,
    null,
    facts([
      [TEXT.from, from],
      [TEXT.to, to],
      ...(mode === null ? [] : ([[TEXT.mode, mode]] as const)),
      ...(after.length === 0
        ? []
        : ([
            [
              TEXT.after,
              after.map(
                (name, at) => html`${at > 0 && ', '}<a href="/syncs/${inPath(name)}">${name}</a>`,
              ),
            ],
          ] as const)),
      [
        TEXT.schedule,
        state === null
          ? TEXT.notScheduled
          : html`${schedule?.configured ?? state.when ?? ''}${state.group !== null && html` (${TEXT.bySchedule(state.group)})`}${state.state !== 'active' && html` <span class="warn">${TEXT.scheduleStates[state.state]}</span>`}`,
      ],
      ...(schedule === null || schedule.times.length === 0
        ? []
        : ([
            [
              TEXT.nextTimes,
              html`<ol class="plain times">
                ${schedule.times.map((at) => html`<li>${timeOf(at, 'short')}</li>`)}
              </ol>`,
            ],
          ] as const)),
      [
        TEXT.facts.success,
        freshness.succeeded_at === null ? TEXT.never : timeOf(freshness.succeeded_at),
      ],
      [
        TEXT.facts.verified,
        html`${verified === null ? TEXT.never : timeOf(verified)}${left > 0 && html` <span class="warn">${TEXT.differ(left)}</span>`}`,
      ],
    ]),
  )
}

function mappingPart({
  properties,
  links,
  rejects_of: of,
}: NonNullable<SyncView['mapping']>): Markup {
  return part(
    'mapping',
    TEXT.mapping,
    of === null ? null : TEXT.rejectsOf(of),
    html`<table class="tabled mapping">
      ${tableHead([TEXT.column, TEXT.property], of === null ? [] : [TEXT.lastRejects])}
      <tbody>
        ${properties.map(
          ({ property, columns, note, is_key: isKey, rejects, reasons }) =>
            html`<tr>
              <td>
                ${columns.length === 0 ? html`<span class="soft">${note}</span>` : columns.join(' + ')}
                ${columns.length > 0 && note !== null && html`<span class="of">${note}</span>`}
              </td>
              <th scope="row">
                <span class="arrow" aria-hidden="true">→</span> ${property}
                ${isKey && html`<span class="badge">${TEXT.isKey}</span>`}
              </th>
              ${
                of !== null &&
                html`<td class="n">
                  ${rejects === 0 ? html`<span class="soft">0</span>` : html`<a href="/runs/${of}/rejects">${formatNumber(rejects)}</a>`}
                  ${reasons.length > 0 && html`<span class="of">${reasons.join(', ')}</span>`}
                </td>`
              }
            </tr>`,
        )}
        ${links.map(
          ({ association, to, column }) =>
            html`<tr>
              <td>${column}</td>
              <th scope="row">
                <span class="arrow" aria-hidden="true">→</span> ${TEXT.link(association, to)}
              </th>
              ${of !== null && html`<td class="n"></td>`}
            </tr>`,
        )}
      </tbody>
    </table>`,
  )
}

function tablesPart(tables: NonNullable<SyncView['tables']>, nowMs: number): Markup {
  const number = (value: number | null) => (value === null ? '–' : formatNumber(value))
  return part(
    'tables',
    TEXT.tables,
    TEXT.tablesLead,
    cardsTable(
      [
        ...texts(TEXT.table, TEXT.state, TEXT.upTo),
        ...figures(TEXT.tableRows, TEXT.serviceCounts, TEXT.deleted, TEXT.misfits),
      ],
      tables.map((table) => [
        html`${table.table ?? table.stream}${table.message !== null && html`<span class="of">${table.message}</span>`}`,
        table.state === 'failed' ? html`<span class="warn">${table.state}</span>` : table.state,
        table.up_to === null
          ? html`<span class="warn">${TEXT.never}</span>`
          : html`${timeOf(table.up_to, 'short')}<span class="of"
                >${agoText(nowMs - Date.parse(table.up_to))}</span
              >`,
        number(table.table_count),
        countsDiffer(table)
          ? html`<span class="warn">≠ ${number(table.service_count)}</span>`
          : number(table.service_count),
        number(table.deleted),
        number(table.misfits),
      ]),
    ),
  )
}

function runsPart({ runs, next_before: next, summary }: SyncView): Markup {
  if (runs.length === 0)
    return part('runs', TEXT.runs, null, html`<p class="note">${TEXT.noRunYet}</p>`)
  return part(
    'runs',
    TEXT.runs,
    null,
    html`${cardsTable(
      [...texts(TEXT.runHead, TEXT.state, TEXT.beganHead), ...figures(TEXT.rows, ...SHOWN)],
      runs.map(runCells),
    )}
    ${
      next !== null &&
      html`<p class="note">
        <a href="/syncs/${inPath(summary.sync)}?before=${next}#runs">${TEXT.older}</a>
      </p>`
    }`,
  )
}

const SHOWN = ['created', 'updated', 'deleted', 'skipped', 'rejected'] as const

function runCells({ run, purpose, state, tone, opened_at: at, seconds, rows, parts }: RunBar) {
  const number = (value: number | null | undefined) =>
    value === null || value === undefined ? '–' : formatNumber(value)
  return [
    html`<a href="/runs/${run}">${run}</a
      >${purpose !== 'sync' && html`<span class="of">${purpose}</span>`}`,
    stateOf(tone, state.replaceAll('_', ' ')),
    html`${timeOf(at, 'short')}${seconds !== null && html`<span class="of">${TEXT.took(durationText(seconds))}</span>`}`,
    number(rows),
    ...SHOWN.map((name) => number(parts?.[name])),
  ]
}
