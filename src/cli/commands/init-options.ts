// How `records-sync init` is called.

import type { Command } from 'commander'
import { actionsOf, type Execute } from '../shared/arguments.ts'
import type { InitCommandOptions } from './init.ts'

/** @param umask of the caller */
export function describeInit(command: Command, execute: Execute, umask: number): void {
  command
    .argument('[file]', 'a CSV file: its columns are matched with what the service has')
    .option(
      '--service <url>',
      'URL of the Records Service, or a connection; default: that of the configuration, else of dev',
    )
    .option('--key <place>', 'where its API key is: file:PATH, env:NAME or command:COMMAND')
    .option('--object-type <name>', 'what the rows are; default: the type that fits best')
    .option(
      '--matching-property <property>',
      'the key: PROPERTY, or PROPERTY=COLUMN; default: a unique property that fits',
    )
    .option('-y, --yes', 'take every guess; ask nothing', false)
    .option(
      '--example [folder]',
      'a folder that runs as it is with dev; default: records-sync-example',
    )
    .description('write a records-sync.yaml: from a CSV file and a service, or a starter')
    .action((file: string | undefined, options: InitCommandOptions) =>
      actionsOf(execute)(async () => (await import('./init.ts')).init)(file, options, umask),
    )
}
