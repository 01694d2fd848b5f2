// `records-sync check`: is everything as the configuration says? Reads only; writes nothing anywhere.

import { silentLogger } from '../core/ports.ts'
import { compileMapping } from '../import/map.ts'
import { readTarget } from '../import/target.ts'
import { EXIT, type CommandContext } from './context.ts'
import { safe } from './terminal.ts'

interface Finding {
  readonly subject: string
  readonly ok: boolean
  readonly message: string
  readonly warnings: readonly string[]
}

export async function check(context: CommandContext): Promise<number> {
  const config = await context.loadConfig()
  const { connector } = await import('../connections.ts')
  const { openSource } = await import('../sources/index.ts')
  const connections = connector({
    configFile: context.configFile,
    env: context.env,
    logger: silentLogger,
  })
  const findings: Finding[] = []
  const examine = async (
    subject: string,
    work: () => Promise<{ message: string; warnings?: readonly string[] }>,
  ) => {
    try {
      const { message, warnings = [] } = await work()
      findings.push({ subject, ok: true, message, warnings })
    } catch (error) {
      findings.push({
        subject,
        ok: false,
        message: error instanceof Error ? error.message : String(error),
        warnings: [],
      })
    }
  }
  try {
    for (const name of Object.keys(config.connections))
      await examine(`connection ${name}`, async () => {
        const { client, keyFingerprint } = await connections.connect(name)
        const self = await client.readSelf()
        const types = await client.listObjectTypes()
        return {
          message: `${client.origin}, org ${self.org_id}, key#${keyFingerprint}, reach ${self.reach}, ${types.length} object types`,
        }
      })
    for (const sync of Object.values(config.syncs))
      await examine(`sync ${sync.name}`, async () => {
        const { client } = await connections.connect(sync.import.to)
        const source = await openSource(sync.import.from)
        try {
          const target = await readTarget(
            { client, signal: new AbortController().signal },
            sync.import.object_type,
          )
          const { warnings } = compileMapping(sync.name, sync.import, target, source.columns)
          return {
            message: `${Object.keys(sync.import.properties).length} properties of ${sync.import.object_type} from ${source.columns.length} columns, matched by ${sync.import.matching_property}`,
            warnings,
          }
        } finally {
          await source.close()
        }
      })
  } finally {
    await connections.close()
  }
  const ok = findings.every((finding) => finding.ok)
  if (context.json) context.terminal.out(JSON.stringify({ ok, findings }))
  else
    for (const { subject, ok: fine, message, warnings } of findings) {
      const { terminal } = context
      terminal.out(
        `${fine ? terminal.style('green', 'ok    ') : terminal.style('red', 'failed')}  ${subject}: ${safe(message, 1_000)}`,
      )
      for (const warning of warnings)
        terminal.out(`        ${terminal.style('yellow', `warning: ${safe(warning, 300)}`)}`)
    }
  return ok ? EXIT.done : EXIT.usage
}
