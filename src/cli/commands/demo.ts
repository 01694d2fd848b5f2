// `npm run demo`: the main job on real files, with embedded parts. It imports 4,000 contacts with planted mistakes,
// shows the books, corrects some of the rejects and sends only these, and imports again to show that nothing is sent twice.
// Then it mirrors the CRM into a DuckDB file, works in the CRM, mirrors again, and asks for what changed in SQL. At the end
// it asks whether the CRM holds what the file holds, and makes it so.

import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RecordsClient } from '../../client/index.ts'
import { startEmbedded } from '../../dev/embedded.ts'
import type { RunningService } from '../../service/index.ts'
import { auditCommand } from './audit.ts'
import { createContext, EXIT, type CommandContext } from '../shared/context.ts'
import { terminalLogger } from '../shared/logging.ts'
import { reconcileSync } from './reconcile.ts'
import { rejects } from './rejects.ts'
import { reportCommand } from './report.ts'
import { show } from './show.ts'
import { retryRun } from './retry.ts'
import { run } from './run.ts'
import { untilSignal } from './service.ts'
import { sql } from './sql.ts'
import type { Terminal } from '../shared/terminal.ts'

export interface DemoOptions {
  /** Leave everything running until Ctrl-C. */
  readonly keep: boolean
}

const exampleDir = () => {
  // From dist/src/cli or src/cli: the examples are beside the configuration's source either way.
  const up = import.meta.url.endsWith('.ts') ? '../../../' : '../../../../'
  return fileURLToPath(new URL(`${up}config/examples/contacts`, import.meta.url))
}

export async function demo(outer: CommandContext, options: DemoOptions): Promise<number> {
  const { terminal } = outer
  const folder = resolve('.records-sync/demo')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  cpSync(exampleDir(), folder, { recursive: true })
  const configFile = join(folder, 'records-sync.yaml')
  const title = (text: string) => terminal.out(`\n${terminal.style('bold', text)}`)

  title('1. Start: the Records Service, a Temporal server, a worker')
  const embedded = await startEmbedded({
    configFile,
    env: ownEnv(),
    stateDir: join(folder, '.records-sync'),
    servicePort: 0,
    serviceLimit: null,
    temporalPort: 0,
    keepHistory: false,
    logger: terminalLogger(terminal, 'warn'),
    progress: (line) => terminal.err(line),
  })
  try {
    process.env['TEMPORAL_ADDRESS'] = embedded.temporal.address
    process.env['RECORDS_URL'] = embedded.service!.url
    process.env['RECORDS_API_KEY'] = embedded.service!.key
    terminal.out(`  Records Service  ${embedded.service?.url}`)
    terminal.out(`  Temporal UI      ${embedded.temporal.uiUrl}`)
    const context = createContext({ config: configFile, json: false }, terminal)

    title('2. Import contacts.csv: 4,000 rows, some of them wrong on purpose')
    const first = await run(context, 'contacts', { detach: false })
    if (first === EXIT.stopped) return first

    title('3. The run, as an operator sees it')
    await show(context, '1')
    const rejectsFolder = join(folder, 'rejects')
    await rejects(context, '1', { directory: rejectsFolder, exact: false })

    title('4. Correct the e-mail addresses as in a spreadsheet, and send only these rows again')
    const corrected = correct(rejectsFolder)
    const retried = await retryRun(context, '1', { file: [corrected], detach: false })
    if (retried === EXIT.stopped) return retried

    title('5. Import the same file again: nothing is sent twice')
    const second = await run(context, 'contacts', { detach: false })
    if (second === EXIT.stopped) return second

    title('6. Import companies.csv')
    const third = await run(context, 'companies', { detach: false })
    if (third === EXIT.stopped) return third

    title('7. Mirror the CRM into a DuckDB file')
    const mirrored = await run(context, 'crm_copy', { detach: false })
    if (mirrored !== EXIT.done) return mirrored

    title('8. Somebody works in the CRM: three contacts change, two are deleted')
    const since = await workInCrm(embedded.service!, terminal)

    title('9. Mirror again: the last five minutes are read again, and what is gone is found')
    const again = await run(context, 'crm_copy', { detach: false })
    if (again !== EXIT.done) return again

    title('10. What changed, in SQL')
    const query = `SELECT svc_first_name, svc_last_name, svc_job_title, _deleted_at IS NOT NULL AS deleted
FROM crm_copy.svc_contact
WHERE _version >= '${since}' OR _deleted_at IS NOT NULL
ORDER BY deleted, _id`
    terminal.out(query.replaceAll(/^/gm, '  '))
    await sql(context, 'local', query, { limit: 20 })

    title('11. Does the CRM hold what the file holds?')
    const looked = await reconcileSync(context, 'contacts', ONLY_LOOK)
    if (looked === EXIT.stopped) return looked

    title('12. Make both sides equal, and check the books')
    const repaired = await reconcileSync(context, 'contacts', { ...ONLY_LOOK, repair: true })
    if (repaired === EXIT.stopped) return repaired
    await auditCommand(context)
    const page = join(folder, 'reconcile.html')
    const ledger = await context.openLedger()
    const [last] = await ledger.runs({ sync: 'contacts', limit: 1 })
    await ledger.close()
    await reportCommand(context, String(last!.id), { output: page, open: false })

    title('What to look at next')
    terminal.out(`  ${join(folder, 'records-sync.yaml')}  the configuration`)
    terminal.out(`  ${rejectsFolder}  the rejected rows, with line and reason`)
    terminal.out(`  ${page}  the last run as a page`)
    terminal.out(
      `  ${join(folder, 'ledger.db')}  the ledger: one outcome per row, to be queried with SQL`,
    )
    terminal.out(`  ${join(folder, 'warehouse.duckdb')}  the mirror: open it with any DuckDB`)
    if (options.keep) {
      terminal.out(`  ${embedded.temporal.uiUrl}  the runs in the Temporal UI`)
      terminal.out('Everything stays up. Ctrl-C stops all parts.')
      await untilSignal()
    } else terminal.out('  npm run demo -- --keep  leaves everything running, with the Temporal UI')
    return EXIT.done
  } finally {
    await embedded.stop()
  }
}

const ONLY_LOOK = { repair: false, deleteExtra: false, full: false, detach: false } as const

/** Takes the e-mail address away that is none, in the file of such rows. Returns the file. */
function correct(rejectsFolder: string): string {
  const name = readdirSync(rejectsFolder).find((file) => file.includes('not_an_email'))!
  const file = join(rejectsFolder, name)
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(';nobody@"', '"'))
  return file
}

/** Takes out of the environment what would lead the demo into somebody's CRM, or to another Temporal server. */
function ownEnv(): NodeJS.ProcessEnv {
  for (const name of Object.keys(process.env))
    if (/^(TEMPORAL_|RECORDS_URL$|RECORDS_API_KEY$)/.test(name)) delete process.env[name]
  return process.env
}

/** Changes three contacts and deletes two. Returns the time of the first change, by the service's clock. */
async function workInCrm(
  { url, key }: Pick<RunningService, 'url' | 'key'>,
  terminal: Terminal,
): Promise<string> {
  const client = new RecordsClient({ baseUrl: url, key })
  try {
    const ids = [1, 2, 3, 4, 5].map((number) => `C-0000${number}`)
    const filter = { property: 'svc_external_id', op: 'in', value: ids } as const
    const { data } = await client.queryRecords('svc_contact', { filter })
    const changed = data.slice(0, 3)
    const deleted = data.slice(3)
    let since: string | null = null
    for (const { id } of changed) {
      const properties = { svc_job_title: 'Head of Everything' }
      const record = await client.updateRecord('svc_contact', id, properties)
      since ??= String(record.properties['svc_updated_at'])
    }
    for (const { id } of deleted) await client.deleteRecord('svc_contact', id)
    terminal.out(`  changed: ${changed.map(({ id }) => id).join(', ')}`)
    terminal.out(`  deleted: ${deleted.map(({ id }) => id).join(', ')}`)
    return since!
  } finally {
    await client.close()
  }
}
