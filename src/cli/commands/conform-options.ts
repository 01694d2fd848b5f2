// The command line of `records-sync conform`.

import type { Command } from 'commander'
import { actionsOf, wholeNumber, type Execute } from '../shared/arguments.ts'

export function describeConform(command: Command, execute: Execute): void {
  // Places of keys are read later: commander would quote what is wrong, and that may be a key.
  command
    .description('ask a service, rule by rule, which rules of the specification it keeps')
    .requiredOption('--service <url>', 'its base URL, which ends before /rest/v1')
    .option('--key <place>', 'where its API key is: env:NAME or file:PATH')
    .option('--key-env <name>', 'the same as --key env:NAME; default: RECORDS_API_KEY')
    .option('--key-file <file>', 'the same as --key file:PATH')
    .option('--other-key <place>', 'a second key of the org, with fewer grants: env: or file:')
    .option('--write <type...>', 'object types to make scratch records of; they are removed', [])
    .option('--key-in-query', 'also try the key in a query string, which may put it into logs')
    .option('--requests <n>', 'the most requests to send', wholeNumber(1, 100_000), 1_000)
    .action(actionsOf(execute)(async () => (await import('./conform.ts')).conformCommand))
}
