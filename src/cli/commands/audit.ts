// `records-sync audit`: is every closed run of the ledger as it was when it was closed? Reads only.

import { readSigningKey } from '../../../config/index.ts'
import type { AuditFinding, SyncAudit } from '../../audit/index.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import {
  countText,
  formatNumber,
  printWrapped,
  safeText,
  table,
  type Terminal,
} from '../shared/terminal.ts'
import { printJson } from '../json.ts'

/** Findings that are printed; the others are counted. */
const FINDINGS_SHOWN_MAX = 1_000

/** Ends with 1 if something was found. */
export async function auditCommand(context: CommandContext): Promise<number> {
  const { terminal } = context
  const config = await context.loadConfig()
  const key = await readSigningKey(config.ledger, context.env)
  const ledger = await context.findLedger()
  if (ledger === null) {
    const nothing = { syncs: [], findings: [], found: 0, hasKey: key !== null }
    if (context.json) printJson(terminal, toJson(nothing))
    else terminal.out('There is no ledger yet: no sync has run.')
    return EXIT.done
  }
  try {
    const { runAudit } = await import('../../audit/index.ts')
    const findings: AuditFinding[] = []
    let found = 0
    const syncs = await runAudit(ledger, {
      key,
      nowMs: Date.now(),
      report: (finding) => {
        found++
        if (findings.length < FINDINGS_SHOWN_MAX) findings.push(finding)
      },
      onRun: (run, last) => {
        if (!context.json) terminal.live(`run ${formatNumber(run)} of ${formatNumber(last)}`)
      },
    })
    terminal.endLive()
    const result = { syncs, findings, found, hasKey: key !== null }
    if (context.json) printJson(terminal, toJson(result))
    else print(terminal, result)
    return found === 0 ? EXIT.done : EXIT.rejects
  } finally {
    await ledger.close()
  }
}

interface AuditResult {
  readonly syncs: readonly SyncAudit[]
  readonly findings: readonly AuditFinding[]
  /** How many there are, also those that are not listed. */
  readonly found: number
  /** Whether signatures were checked. */
  readonly hasKey: boolean
}

function print(terminal: Terminal, { syncs, findings, found, hasKey }: AuditResult): void {
  terminal.out(
    table(
      ['sync', 'runs', 'live', 'sealed', 'signed', 'books right', 'pruned', 'findings', 'head'],
      syncs.map((sync) => [
        safeText(sync.sync, 63),
        sync.runs,
        sync.live,
        sync.sealed,
        sync.signed,
        sync.booked,
        sync.pruned,
        sync.findings,
        sync.head && `run ${sync.head.run}: ${sync.head.digest}`,
      ]),
    ),
  )
  terminal.out()
  for (const { sync, run, message } of findings) {
    const which = sync === null ? 'Run' : `${safeText(sync, 63)}, run`
    printWrapped(terminal, safeText(`${which} ${run}: ${message}`, 2_000), { style: 'red' })
  }
  if (found > findings.length)
    terminal.out(`… and ${formatNumber(found - findings.length)} more; mend these first`)
  if (found === 0)
    printWrapped(
      terminal,
      'Nothing was found: every closed run is as it was sealed, and its books agree with its items.',
      { style: 'green' },
    )
  else printWrapped(terminal, `${countText(found, 'finding')}.`, { style: 'yellow' })
  terminal.out()
  terminal.out('What an audit cannot see:')
  for (const limit of limitsOf(syncs, hasKey))
    printWrapped(terminal, limit, { indent: 4, style: 'dim', head: '  - ' })
}

/** What it cannot see, of this ledger. */
function limitsOf(syncs: readonly SyncAudit[], hasKey: boolean): string[] {
  const sum = (of: (sync: SyncAudit) => number) =>
    syncs.reduce((total, sync) => total + of(sync), 0)
  const limits = [
    "Runs that were taken off the end of a chain: compare each head with the digest of that run in the worker's log and in the result of its workflow.",
    'Which item is in which state, and what it says: a manifest holds the counts.',
  ]
  const unsigned = syncs.filter(({ sealed, signed }) => sealed > 0 && signed === 0)
  if (!hasKey)
    limits.push(
      `Whether manifests were forged: anyone who can write the ledger can change a run and seal it again, unless a \`ledger.signing_key\` signs manifests${sum(({ signed }) => signed) > 0 ? '. Some are signed; name the key, and they are checked' : ''}.`,
    )
  else if (unsigned.length > 0)
    limits.push(
      `Whether manifests were forged of ${unsigned.map(({ sync }) => safeText(sync, 63)).join(', ')}: none of them is signed. Either no run was closed since there is a key, or the signatures were taken away.`,
    )
  const pruned = sum((sync) => sync.pruned)
  if (pruned > 0)
    limits.push(
      `The items of ${countText(pruned, 'run')}: they were removed in their time; the counts are kept.`,
    )
  return limits
}

/** For programs. */
const toJson = ({ syncs, findings, found, hasKey }: AuditResult) => ({
  ok: found === 0,
  signatures_checked: hasKey,
  syncs: syncs.map(({ booked, ...sync }) => ({ ...sync, books_right: booked })),
  findings,
  findings_total: found,
  cannot_see: limitsOf(syncs, hasKey),
})
