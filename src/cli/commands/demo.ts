// `npm run demo`: the main job on real files, with embedded parts. It imports 4,000 contacts with planted mistakes,
// shows the books, corrects some of the rejects and sends only these, and imports again to show that nothing is sent twice.
// Then it mirrors the CRM into a DuckDB file, works in the CRM, mirrors again, and asks for what changed in SQL. At the end
// it asks whether the CRM holds what the file holds, and makes it so.

import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RecordsClient } from '../../client/index.ts'
import { startEmbedded } from '../../dev/embedded.ts'
import { stateDirOf } from '../../dev/parts.ts'
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
import { loadDuckdb } from '../../warehouses/duckdb/installed.ts'

const exampleDir = () => {
  // From dist/src/cli or src/cli: the examples are next to the configuration's source either way.
  const up = import.meta.url.endsWith('.ts') ? '../../../' : '../../../../'
  return fileURLToPath(new URL(`${up}config/examples/contacts`, import.meta.url))
}

/** What the steps of the demo share. */
interface Demo {
  readonly context: CommandContext
  readonly folder: string
  readonly service: RunningService
  title(text: string): void
}

/** `keep`: leaves everything running until Ctrl-C. */
export async function demo(
  outer: CommandContext,
  options: { readonly keep: boolean },
): Promise<number> {
  const { terminal } = outer
  await loadDuckdb()
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
    stateDir: stateDirOf(configFile),
    command: 'demo',
    sync: null,
    servicePort: 0,
    serviceLimit: null,
    temporalPort: 0,
    keepHistory: false,
    logger: terminalLogger(terminal, 'warn'),
    progress: (line) => terminal.err(line),
  })
  try {
    const service = embedded.service!
    process.env['TEMPORAL_ADDRESS'] = embedded.temporal.address
    process.env['RECORDS_URL'] = service.url
    process.env['RECORDS_API_KEY'] = service.key
    terminal.out(`  Records Service  ${service.url}`)
    terminal.out(`  Temporal UI      ${embedded.temporal.uiUrl}`)
    const context = createContext({ config: configFile, json: false }, terminal)
    for (const part of [importFiles, mirrorCrm, reconcileContacts]) {
      const failed = await part({ context, folder, service, title })
      if (failed !== null) return failed
    }
    title('What to look at next')
    printFiles(terminal, folder)
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

/** Each part of the demo returns the exit code of the step that stopped it; null: go on. */
async function importFiles({ context, folder, title }: Demo): Promise<number | null> {
  title('2. Import contacts.csv: 4,000 rows, some of them wrong on purpose')
  const first = await run(context, 'contacts', { detach: false })
  if (first === EXIT.stopped) return first

  title('3. The run, as an operator sees it')
  await show(context, '1')
  const directory = rejectsFolder(folder)
  await rejects(context, '1', { directory, exact: false })

  title('4. Correct the e-mail addresses as in a spreadsheet, and send only these rows again')
  const corrected = correct(directory)
  const retried = await retryRun(context, '1', { file: [corrected], detach: false })
  if (retried === EXIT.stopped) return retried

  title('5. Import the same file again: nothing is sent twice')
  const second = await run(context, 'contacts', { detach: false })
  if (second === EXIT.stopped) return second

  title('6. Import companies.csv')
  const third = await run(context, 'companies', { detach: false })
  return third === EXIT.stopped ? third : null
}

async function mirrorCrm({ context, service, title }: Demo): Promise<number | null> {
  const { terminal } = context
  title('7. Mirror the CRM into a DuckDB file')
  const mirrored = await run(context, 'crm_copy', { detach: false })
  if (mirrored !== EXIT.done) return mirrored

  title('8. A user works in the CRM: three contacts change, two are deleted')
  const since = await workInCrm(service, terminal)

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
  return null
}

async function reconcileContacts({ context, folder, title }: Demo): Promise<number | null> {
  title('11. Does the CRM hold what the file holds?')
  const compared = await reconcileSync(context, 'contacts', ONLY_COMPARE)
  if (compared === EXIT.stopped) return compared

  title('12. Make both sides equal, and check the books')
  const repaired = await reconcileSync(context, 'contacts', { ...ONLY_COMPARE, repair: true })
  if (repaired === EXIT.stopped) return repaired
  await auditCommand(context)
  const ledger = await context.openLedger()
  const [last] = await ledger.runs({ sync: 'contacts', limit: 1 })
  await ledger.close()
  await reportCommand(context, String(last!.id), { output: reportFile(folder), open: false })
  return null
}

const rejectsFolder = (folder: string) => join(folder, 'rejects')
const reportFile = (folder: string) => join(folder, 'reconcile.html')

function printFiles({ out }: Terminal, folder: string): void {
  out(`  ${join(folder, 'records-sync.yaml')}  the configuration`)
  out(`  ${rejectsFolder(folder)}  the rejected rows, with line and reason`)
  out(`  ${reportFile(folder)}  the last run as a page`)
  out(`  ${join(folder, 'ledger.db')}  the ledger: one outcome per row, to be queried with SQL`)
  out(`  ${join(folder, 'warehouse.duckdb')}  the mirror: open it with any DuckDB`)
}

const ONLY_COMPARE = { repair: false, deleteExtra: false, full: false, detach: false } as const

/** Removes the e-mail addresses that are none, in the file of such rows. Returns the file. */
function correct(directory: string): string {
  const name = readdirSync(directory).find((file) => file.includes('not_an_email'))!
  const file = join(directory, name)
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(';nobody@"', '"'))
  return file
}

/** The environment without what would lead the demo into a real CRM, or to another Temporal server. */
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
