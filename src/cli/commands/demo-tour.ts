// `demo --tour`: every main command, with its whole output. It imports 4,000 contacts with planted mistakes, shows the books,
// corrects some of the rejects and sends only these, and imports again to show that nothing is sent twice. Then it mirrors the CRM
// into a DuckDB file, works in the CRM, mirrors again, and asks for what changed in SQL. At the end it asks whether the CRM holds
// what the file holds, makes it so, and checks the accounts of all runs.

import { join } from 'node:path'
import { EXIT } from '../shared/context.ts'
import type { Terminal } from '../shared/terminal.ts'
import { auditCommand } from './audit.ts'
import {
  correct,
  emailRejects,
  ONLY_COMPARE,
  rejectsFolder,
  workInCrm,
  type Demo,
} from './demo-steps.ts'
import { reconcileSync } from './reconcile.ts'
import { rejects } from './rejects.ts'
import { reportCommand } from './report.ts'
import { retryRun } from './retry.ts'
import { run } from './run.ts'
import { show } from './show.ts'
import { sql } from './sql.ts'

/** @throws DemoEnd */
export async function tour(demo: Demo): Promise<void> {
  const { context, service, temporalUi } = demo
  context.terminal.out(`  Records Service  ${service.url}`)
  context.terminal.out(`  Temporal UI      ${temporalUi}`)
  await importFiles(demo)
  await mirrorCrm(demo)
  await reconcileContacts(demo)
  demo.title('What to look at next')
  printFiles(context.terminal, demo.folder)
}

async function importFiles({ context, folder, title, step }: Demo): Promise<void> {
  title('2. Import contacts.csv: 4,000 rows, some of them wrong on purpose')
  await step(() => run(context, 'contacts', { detach: false }))

  title('3. The run, as an operator sees it')
  await show(context, '1')
  const directory = rejectsFolder(folder)
  await rejects(context, '1', { directory, exact: false })

  title('4. Correct the e-mail addresses as in a spreadsheet, and send only these rows again')
  const corrected = emailRejects(directory)
  correct(corrected, [';nobody@'])
  await step(() => retryRun(context, '1', { file: [corrected], detach: false }))

  title('5. Import the same file again: nothing is sent twice')
  await step(() => run(context, 'contacts', { detach: false }))

  title('6. Import companies.csv')
  await step(() => run(context, 'companies', { detach: false }))
}

async function mirrorCrm({ context, service, title, step }: Demo): Promise<void> {
  const { terminal } = context
  title('7. Mirror the CRM into a DuckDB file')
  await step(() => run(context, 'crm_copy', { detach: false }), EXIT.done)

  title('8. A user works in the CRM: three contacts change, two are deleted')
  const { since, changed, deleted } = await workInCrm(service)
  terminal.out(`  changed: ${changed.join(', ')}`)
  terminal.out(`  deleted: ${deleted.join(', ')}`)

  title('9. Mirror again: the last five minutes are read again, and what is gone is found')
  await step(() => run(context, 'crm_copy', { detach: false }), EXIT.done)

  title('10. What changed, in SQL')
  const query = `SELECT svc_first_name, svc_last_name, svc_job_title, _deleted_at IS NOT NULL AS deleted
FROM crm_copy.svc_contact
WHERE _version >= '${since}' OR _deleted_at IS NOT NULL
ORDER BY deleted, _id`
  terminal.out(query.replaceAll(/^/gm, '  '))
  await sql(context, 'local', query, { limit: 20 })
}

async function reconcileContacts({ context, folder, title, step }: Demo): Promise<void> {
  title('11. Does the CRM hold what the file holds?')
  await step(() => reconcileSync(context, 'contacts', ONLY_COMPARE))

  title('12. Make both sides equal, and check the books')
  await step(() => reconcileSync(context, 'contacts', { ...ONLY_COMPARE, repair: true }))
  await step(() => auditCommand(context), EXIT.done)
  const ledger = await context.openLedger()
  const [last] = await ledger.runs({ sync: 'contacts', limit: 1 })
  await ledger.close()
  await reportCommand(context, String(last!.id), { output: reportFile(folder), open: false })
}

const reportFile = (folder: string) => join(folder, 'reconcile.html')

function printFiles({ out }: Terminal, folder: string): void {
  out(`  ${join(folder, 'records-sync.yaml')}  the configuration`)
  out(`  ${rejectsFolder(folder)}  the rejected rows, with line and reason`)
  out(`  ${reportFile(folder)}  the last run as a page`)
  out(`  ${join(folder, 'ledger.db')}  the ledger: one outcome per row, to be queried with SQL`)
  out(`  ${join(folder, 'warehouse.duckdb')}  the mirror: open it with any DuckDB`)
}
