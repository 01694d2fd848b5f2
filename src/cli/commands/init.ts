// `records-sync init`: a first configuration file, with comments.

import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { STARTER_CONFIG } from '../../../config/index.ts'
import { ConfigError } from '../../core/errors.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'

/** @param umask of the caller: the configuration holds no secret, and may be for others too */
export async function init(context: CommandContext, umask: number): Promise<number> {
  if (existsSync(context.configFile))
    throw new ConfigError(context.configFile, 'the file exists already; it was left as it is')
  writeFileSync(context.configFile, STARTER_CONFIG, { flag: 'wx' })
  chmodSync(context.configFile, 0o666 & ~umask)
  context.terminal.out(`Wrote ${context.configFile}. Next:
  1. edit it: service, key, columns. As it is, it reads contacts.csv with the columns id, first_name, last_name and email
  2. to try it without a CRM, leave ${context.hint('dev')} running in another terminal: it starts a service and writes the key
  3. ${context.hint('check')}`)
  return EXIT.done
}
