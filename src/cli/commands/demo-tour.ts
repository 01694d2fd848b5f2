// `demo --tour`: every main command, with its whole output. It imports companies, contacts and deals with planted mistakes, links
// them, shows the books, corrects some of the rejects and sends only these, and imports again to show that nothing is sent twice. Then
// it works in the CRM, mirrors again, and asks in SQL for what changed, and for what the deals of a company are worth. At the end it
// asks whether the CRM holds what the file holds, makes it so, and checks the accounts of all runs. A file that was corrected is
// planned, applied and taken back.

import { join } from 'node:path'
import { EXIT } from '../shared/context.ts'
import type { Terminal } from '../shared/terminal.ts'
import { auditCommand } from './audit.ts'
import {
  correct,
  correctSource,
  editInCrm,
  MISTAKES,
  ONLY_COMPARE,
  rejectsFolder,
  rejectsOf,
  SOURCE_SYNC,
  UNDO_ALL,
  untilLinked,
  workInCrm,
  type Demo,
} from './demo-steps.ts'
import { plan } from './plan.ts'
import { reconcileSync } from './reconcile.ts'
import { rejects } from './rejects.ts'
import { reportCommand } from './report.ts'
import { retryRun } from './retry.ts'
import { runGroup } from './run-group.ts'
import { run } from './run.ts'
import { show } from './show.ts'
import { sql } from './sql.ts'
import { undoRun } from './undo.ts'

/** @throws DemoEnd */
export async function tour(demo: Demo): Promise<void> {
  const { context, service, temporalUi } = demo
  context.terminal.out(`  Records Service  ${service.url}`)
  context.terminal.out(`  Temporal UI      ${temporalUi}`)
  await importFiles(demo)
  await correctRejects(demo)
  await mirrorCrm(demo)
  await reconcileDeals(demo)
  await planAndTakeBack(demo)
  demo.title('What to look at next')
  printFiles(context.terminal, demo.folder)
}

async function importFiles({ context, title, step }: Demo): Promise<void> {
  const config = await context.loadConfig()
  title('2. Import companies.csv, contacts.csv and deals.csv, then mirror the CRM: one command')
  await step(() => runGroup(context, config, { syncs: 'all' }, { detach: false }))

  title('3. The runs, as an operator sees them')
  await show(context, 'companies')
  await show(context, 'deals')
}

async function correctRejects(demo: Demo): Promise<void> {
  const { context, folder, title, step } = demo
  title('4. The rejected rows as files, one for each kind of error')
  for (const { sync, run: of } of MISTAKES)
    await step(() => rejects(context, of, { directory: rejectsFolder(folder, sync), exact: false }))

  title('5. Correct cells as in a spreadsheet, and send only these rows again')
  for (const mistake of MISTAKES.toReversed()) {
    const file = rejectsOf(folder, mistake)
    correct(file, mistake)
    await step(() => retryRun(context, mistake.run, { file: [file], detach: false }))
  }

  title('6. The company is there: the link of its deal, which was waiting, is made by itself')
  await show(context, String((await untilLinked(demo, 'deals')).id))

  title('7. Import the same contacts again: no row and no link is sent twice')
  await step(() => run(context, 'contacts', { detach: false }))
}

async function mirrorCrm({ context, service, title, step }: Demo): Promise<void> {
  const { terminal } = context
  title('8. A user works in the CRM: two deals change, one is deleted')
  const { since, changed, deleted } = await workInCrm(service)
  terminal.out(`  changed: ${changed.join(', ')}`)
  terminal.out(`  deleted: ${deleted.join(', ')}`)

  title('9. Mirror again: the last five minutes are read again, and what is gone is found')
  await step(() => run(context, 'crm_copy', { detach: false }), EXIT.done)

  title('10. What changed, in SQL')
  await ask(
    `SELECT svc_external_id, svc_stage, _deleted_at IS NOT NULL AS deleted
FROM crm_copy.svc_deal
WHERE _version >= '${since}' OR _deleted_at IS NOT NULL
ORDER BY svc_external_id`,
  )
  title('11. Along the links: which companies have won most deals')
  await ask(
    `SELECT company.svc_name AS company, count(*) AS won
FROM crm_copy.svc_deal AS deal
JOIN crm_copy.svc_deal_edges AS edge ON edge.source_id = deal._id
JOIN crm_copy.svc_company AS company ON company._id = edge.target_id
WHERE deal.svc_stage = 'won' AND deal._deleted_at IS NULL
GROUP BY company.svc_name
ORDER BY won DESC, company
LIMIT 5`,
  )

  async function ask(query: string): Promise<void> {
    terminal.out(query.replaceAll(/^/gm, '  '))
    await sql(context, 'local', query, { limit: 20 })
  }
}

async function reconcileDeals({ context, folder, title, step }: Demo): Promise<void> {
  title('12. Does the CRM hold what the file holds? Records and links are compared')
  await step(() => reconcileSync(context, 'deals', ONLY_COMPARE))

  title('13. Make both sides equal, and check the books')
  await step(() => reconcileSync(context, 'deals', { ...ONLY_COMPARE, repair: true }))
  await step(() => auditCommand(context), EXIT.done)
  const ledger = await context.openLedger()
  const [last] = await ledger.runs({ sync: 'deals', limit: 1 })
  await ledger.close()
  await reportCommand(context, String(last!.id), { output: reportFile(folder), open: false })
}

/** Of a new ledger. */
const FIRST_PLAN = 1

async function planAndTakeBack({ context, folder, service, title, step }: Demo): Promise<void> {
  title('14. companies.csv is corrected: what a run would change, record by record')
  correctSource(folder)
  await step(() => plan(context, SOURCE_SYNC, { diff: true }), EXIT.done)

  title('15. Do exactly that, or nothing')
  await step(() => run(context, SOURCE_SYNC, { detach: false, plan: FIRST_PLAN }))

  title('16. A person edits one of the records in the CRM, and the run is taken back')
  await editInCrm(service)
  await step(() => undoRun(context, SOURCE_SYNC, UNDO_ALL))
}

const reportFile = (folder: string) => join(folder, 'reconcile.html')

function printFiles({ out }: Terminal, folder: string): void {
  out(`  ${join(folder, 'records-sync.yaml')}  the configuration`)
  out(`  ${join(folder, 'rejects')}  the rejected rows, with line and reason`)
  out(`  ${reportFile(folder)}  the last run as a page`)
  out(
    `  ${join(folder, 'ledger.db')}  the ledger: one outcome per row and per link, to be queried with SQL`,
  )
  out(`  ${join(folder, 'warehouse.duckdb')}  the mirror: open it with any DuckDB`)
}
