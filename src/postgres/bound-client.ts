// A connection that asks for channel binding: the server proves that it knows the password's verifier and holds the certificate
// that this connection has seen. Promise kept here: any other way to log in is refused before the password is sent.

import pg from 'pg'

const BOUND = 'SCRAM-SHA-256-PLUS'
/** Codes of errors are upper-case words; this one is no code of the system. */
export const UNBOUND = 'CHANNEL_UNBOUND'

/** What of the driver's connection this looks at. */
interface Connection {
  readonly stream: { destroy(): void }
  emit(event: 'error', error: Error): void
  on(event: string, heard: (message: { readonly mechanisms: readonly string[] }) => void): void
}

export class BoundClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super({ ...config, enableChannelBinding: true })
    const { connection } = this as unknown as { connection: Connection }
    let isBound = false
    const refuse = () => {
      const error = Object.assign(new Error('the server offers no channel binding'), {
        code: UNBOUND,
      })
      // First of all that the driver hears: an answer of the server may already be there.
      connection.emit('error', error)
      connection.stream.destroy()
    }
    // Before the driver's own listeners, which answer.
    connection.on('authenticationSASL', ({ mechanisms }) => {
      isBound = mechanisms.includes(BOUND)
      if (!isBound) refuse()
    })
    for (const event of [
      'authenticationCleartextPassword',
      'authenticationMD5Password',
      'authenticationOk',
    ])
      connection.on(event, () => {
        if (!isBound) refuse()
      })
  }
}

/** A connection that is not opened yet, of the class that the settings name. */
export function newClient({ Client = pg.Client, ...config }: pg.PoolConfig): pg.Client {
  return new (Client as unknown as new (config: pg.ClientConfig) => pg.Client)(config)
}
