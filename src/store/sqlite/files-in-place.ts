/**
 * @module Notices a store file or log that was deleted or replaced under the running writer: SQLite would go on writing to files
 * that nobody finds again after a restart.
 */
import { fileIdentity } from './store-path.ts'

export class FilesInPlace {
  readonly #paths: readonly string[]
  readonly #identities: (string | undefined)[]

  /** Call with the file and its log open; a log not made yet counts from its first sight. */
  constructor(path: string) {
    this.#paths = [path, `${path}-wal`]
    this.#identities = this.#paths.map(fileIdentity)
  }

  /** The first file that is not what it was; undefined while all are. Costs a few microseconds. */
  missing(): string | undefined {
    return this.#paths.find((path, index) => {
      const identity = fileIdentity(path)
      this.#identities[index] ??= identity
      return identity !== this.#identities[index]
    })
  }
}
