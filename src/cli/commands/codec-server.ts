// `records-sync codec-server`: decodes for the Temporal UI and CLI what is encrypted in Temporal, until Ctrl-C.

import { ConfigError } from '../../core/errors.ts'
import { uiAddress } from '../../core/temporal/temporal-ui.ts'
import { startCodecServer } from '../../temporal/codec-server.ts'
import { EXIT, temporalOf, type CommandContext } from '../shared/context.ts'
import { untilSignal } from './service.ts'

/** @throws ConfigError if there are no keys; SyncError `port_taken` */
export async function codecServer(
  context: CommandContext,
  options: { readonly port: number },
): Promise<number> {
  const { terminal } = context
  const config = await context.loadConfig()
  const { address, namespace, access } = temporalOf(config, context.env)
  const codec = await access!.codec()
  if (codec === null)
    throw new ConfigError(
      config.file,
      'temporal.encryption_keys is missing, so there is nothing to decode',
    )
  const ui = uiAddress(address, config.temporal.ui)
  const origins = ui === null ? [] : pagesOf(ui)
  const server = await startCodecServer({ codec, namespace, origins, port: options.port })
  terminal.out(`Codec server  ${server.url}, for namespace ${namespace}`)
  terminal.out(
    origins.length === 0
      ? '  no page may ask it: set temporal.ui to the address of the Temporal UI'
      : `  pages that may ask it: ${origins.join(', ')}`,
  )
  terminal.out(
    `  in the UI: "Configure Codec Server" at the top right, Remote Codec Endpoint ${server.url}`,
  )
  terminal.out(`  temporal workflow show --codec-endpoint ${server.url} -w WORKFLOW`)
  await untilSignal()
  await server.close()
  return EXIT.done
}

/** The origin of the UI; on this machine under both of its names. */
function pagesOf(ui: string): string[] {
  const url = new URL(ui)
  if (!/^(localhost|127\.0\.0\.1)$/.test(url.hostname)) return [url.origin]
  return ['127.0.0.1', 'localhost'].map((name) => {
    url.hostname = name
    return url.origin
  })
}
