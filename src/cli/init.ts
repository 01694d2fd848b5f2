// `records-sync init`: a first configuration file, with comments.

import { existsSync, writeFileSync } from 'node:fs'
import { starterConfig } from '../../config/index.ts'
import { ConfigError } from '../core/errors.ts'
import { EXIT, type CommandContext } from './context.ts'

export async function init(context: CommandContext): Promise<number> {
  if (existsSync(context.configFile))
    throw new ConfigError(context.configFile, [
      { message: 'the file exists already; it was left as it is' },
    ])
  writeFileSync(context.configFile, starterConfig(), { flag: 'wx' })
  context.terminal.out(`Wrote ${context.configFile}. Edit it, then: records-sync check`)
  return EXIT.done
}
