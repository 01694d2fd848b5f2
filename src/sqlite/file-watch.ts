// Whether a file in use is still the one that was opened, and not older than it was: what every write asks first.

import type { ChangeCounter } from './change-counter.ts'
import { FileCounter } from './change-counter.ts'
import { toFileError, type FileSubject } from './failures.ts'
import { FileIdentity } from './file-identity.ts'

/** A statement outside a transaction checks the path at most this often; a transaction always does. */
const CHECK_EVERY_MS = 1_000

const REPLACED =
  'was removed or replaced, or its -wal or -shm file was, while this process had it open; nothing more is written. Put it back, or start the process again to use what is there now'
const OVERWRITTEN =
  'was overwritten with an older copy, or with another file, while this process had it open; nothing more is written. Stop every process that has it open, remove its -wal and -shm files, put a whole copy in its place, and start again'

const failed = ({ code, noun, fail }: FileSubject, path: string, sentence: string): Error =>
  fail(`${code}_replaced`, `The ${noun} ${path} ${sentence}`, 'file')

/** Of one that is open. */
export class FileWatch {
  readonly #path: string
  readonly #subject: FileSubject
  readonly #identity: FileIdentity | null
  readonly #counter: ChangeCounter | null
  #checkedAt = performance.now()

  /** @param counter null for a file that is open for reading only, which is not checked */
  constructor(path: string, subject: FileSubject, counter: ChangeCounter | null) {
    this.#path = path
    this.#subject = subject
    this.#counter = counter
    this.#identity = counter && new FileIdentity(path)
  }

  check(): void {
    if (this.#identity?.isReplaced()) throw this.#failed(REPLACED)
    this.checkAge()
    this.#checkedAt = performance.now()
  }

  checkPeriodically(): void {
    if (performance.now() - this.#checkedAt >= CHECK_EVERY_MS) this.check()
  }

  checkAge(): void {
    let isOlder: boolean | undefined
    try {
      isOlder = this.#counter?.isBack()
    } catch (error) {
      throw toFileError(error, this.#path, this.#subject)
    }
    if (isOlder) throw this.#failed(OVERWRITTEN)
  }

  /** From now on every statement asks: none takes what the old file has for what is there now. */
  #failed(sentence: string): Error {
    this.#checkedAt = -Infinity
    return failed(this.#subject, this.#path, sentence)
  }
}

/** Of one that a process opens again and again. Once it is another one, it stays so until the first is back. */
export class PathWatch {
  readonly #path: string
  readonly #subject: FileSubject
  readonly #identity: FileIdentity
  readonly #counter: FileCounter

  constructor(path: string, subject: FileSubject) {
    this.#path = path
    this.#subject = subject
    this.#identity = new FileIdentity(path, false)
    this.#counter = new FileCounter(path)
  }

  /** @throws an error of the subject */
  check(): void {
    if (this.#identity.isReplaced()) throw failed(this.#subject, this.#path, REPLACED)
    if (this.#counter.isBack()) throw failed(this.#subject, this.#path, OVERWRITTEN)
  }
}
