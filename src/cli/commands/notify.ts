// `records-sync notify NAME`: sends a test message, so that a webhook is known to work before it is needed.

import { randomUUID } from 'node:crypto'
import { ownValue } from '../../core/json.ts'
import { systemClock } from '../../core/ports.ts'
import { unknownName } from '../../core/unknown-name.ts'
import { postWebhook } from '../../monitoring/webhook.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import { printJson } from '../json.ts'

/** Ends with code 0 if the message was accepted, else with 3. */
export async function notify(context: CommandContext, name: string): Promise<number> {
  const { terminal, env } = context
  const config = await context.loadConfig()
  const { notifications } = config
  const settings = ownValue(notifications, name)
  if (!settings) throw unknownName(config, 'notification', name, Object.keys(notifications))
  const message = {
    text: `This is a test of the notification "${name}" of records-sync.`,
    event: 'test',
    at: new Date().toISOString(),
    id: randomUUID(),
  }
  const refusal = await postWebhook(settings, message, { env, clock: systemClock })
  if (context.json)
    printJson(terminal, { notification: name, sent: refusal === null, why: refusal })
  else if (refusal === null)
    terminal.out(
      `The receiver of "${name}" has accepted a test message. On: ${settings.on.join(', ')}.`,
    )
  else terminal.err(terminal.style('red', `Notification "${name}" was not accepted: ${refusal}`))
  return refusal === null ? EXIT.done : EXIT.stopped
}
