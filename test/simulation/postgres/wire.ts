// The messages between a client and a PostgreSQL server, as far as the simulator looks into them: it carries whole statements, so that a
// process may be stopped or killed between two of them.

export interface Frame {
  /** '' of the first message of a connection, which has no type. */
  readonly type: string
  /** With type and length. */
  readonly bytes: Buffer
}

/** Cuts a stream of bytes into messages. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0)
  #isUntyped: boolean

  /** @param isUntyped whether the first message has no type */
  constructor(isUntyped: boolean) {
    this.#isUntyped = isUntyped
  }

  read(bytes: Buffer): readonly Frame[] {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    const frames: Frame[] = []
    for (;;) {
      const head = this.#isUntyped ? 0 : 1
      if (this.#rest.length < head + 4) return frames
      const end = head + this.#rest.readInt32BE(head)
      if (this.#rest.length < end) return frames
      const type = this.#isUntyped ? '' : String.fromCharCode(this.#rest[0]!)
      frames.push({ type, bytes: this.#rest.subarray(0, end) })
      this.#rest = this.#rest.subarray(end)
      this.#isUntyped = false
    }
  }
}

/** Texts of a message that each end with a zero. */
const textsIn = (bytes: Buffer, from: number): readonly string[] =>
  bytes.toString('utf8', from).split('\0')

/** The protocol that every release of PostgreSQL speaks, 3.0. */
const PROTOCOL = 196_608

export function readStartup({ bytes }: Frame): Map<string, string> {
  if (bytes.readInt32BE(4) !== PROTOCOL) throw new Error('a connection of another protocol')
  const texts = textsIn(bytes, 8)
  const settings = new Map<string, string>()
  for (let at = 0; at + 1 < texts.length && texts[at] !== ''; at += 2)
    settings.set(texts[at]!, texts[at + 1]!)
  return settings
}

export function writeStartup(settings: ReadonlyMap<string, string>): Buffer {
  const texts = [...settings].flat().map((text) => `${text}\0`)
  const body = Buffer.from(`${texts.join('')}\0`)
  const head = Buffer.alloc(8)
  head.writeInt32BE(body.length + 8, 0)
  head.writeInt32BE(PROTOCOL, 4)
  return Buffer.concat([head, body])
}

/** The process of the server that a connection has. */
export const pidIn = ({ bytes }: Frame): number => bytes.readInt32BE(5)

/** `I`: in no transaction; `T`: in one; `E`: in one that has failed. */
export const statusIn = ({ bytes }: Frame): string => String.fromCharCode(bytes[5]!)

/** What a statement has done: `UPDATE 3`. */
export const tagIn = ({ bytes }: Frame): string => textsIn(bytes, 5)[0]!

/** The name and the text of a statement that is prepared. */
export function preparedIn({ bytes }: Frame): { readonly name: string; readonly text: string } {
  const [name, text] = textsIn(bytes, 5)
  return { name: name!, text: text! }
}

/** The name of the prepared statement that gets its values. */
export const boundIn = ({ bytes }: Frame): string => textsIn(bytes, 5)[1]!

/** The statements of a message that has them as one text. */
export const queryIn = ({ bytes }: Frame): string => textsIn(bytes, 5)[0]!

const framed = (type: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5)
  head.write(type, 0, 'latin1')
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

export const writeQuery = (text: string): Buffer => framed('Q', Buffer.from(`${text}\0`))

/** The client leaves. */
export const TERMINATE = framed('X', Buffer.alloc(0))

/** The last words of a server to a client. */
export const fatal = (code: string, message: string): Buffer =>
  framed('E', Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`))

/** An error with another SQLSTATE, if it has the expected one. */
export function withCode({ type, bytes }: Frame, expected: string, code: string): Buffer {
  const at = type === 'E' ? bytes.indexOf(`\0C${expected}\0`) : -1
  if (at < 0) return bytes
  const copy = Buffer.from(bytes)
  copy.write(code, at + 2, 'latin1')
  return copy
}
