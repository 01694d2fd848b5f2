// The command line of `records-sync schedules`: its verbs, and what each may be given.

import type { Command } from 'commander'
import { actionsOf, type Execute } from '../shared/arguments.ts'

const ABOUT_ALL = {
  plan: 'what apply and prune would change; ends with 1 where there is something',
  apply: 'make the schedules as they are configured; nothing else is touched',
  prune: 'remove the schedules that are configured no more',
  list: 'every schedule: when, state, last run, next run',
} as const

const ABOUT_ONE = {
  pause: 'begin no runs of a sync until it is resumed',
  resume: 'let a paused schedule go on',
  trigger: 'begin a run now, unless one that the schedule began is still on',
} as const

export function describeSchedules(command: Command, execute: Execute): void {
  const action = actionsOf(execute)
  command.description('the schedules of the configuration, and their state on the server')
  for (const [name, description] of Object.entries(ABOUT_ALL)) {
    const verb = name as keyof typeof ABOUT_ALL
    command
      .command(verb)
      .description(description)
      .action(() => action(async () => (await import('./schedules.ts')).schedulesCommand)(verb))
  }
  for (const [name, description] of Object.entries(ABOUT_ONE)) {
    const verb = name as keyof typeof ABOUT_ONE
    const described = command.command(verb).argument('<sync>').description(description)
    if (verb === 'pause')
      described.option('--reason <text>', 'the note that is shown with it', 'by hand')
    described.action((sync: string, { reason }: { reason?: string }) =>
      action(async () => (await import('./schedules.ts')).scheduleCommand)(verb, sync, reason),
    )
  }
}
