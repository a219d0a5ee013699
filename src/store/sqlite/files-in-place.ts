/**
 * @module Detects that the store file or its WAL was deleted or replaced under the running writer: SQLite would continue to write to files that no process
 * can find after a restart.
 */
import { fileIdentity } from './store-path.ts'

export class FilesInPlace {
  readonly #paths: readonly string[]
  readonly #identities: (string | undefined)[]

  /** Call it with the file and its WAL open; a WAL that does not exist yet is recorded when it is first seen. */
  constructor(path: string) {
    this.#paths = [path, `${path}-wal`]
    this.#identities = this.#paths.map(fileIdentity)
  }

  /** The first file that was deleted or replaced; undefined if there is none. Costs a few microseconds. */
  missing(): string | undefined {
    return this.#paths.find((path, index) => {
      const identity = fileIdentity(path)
      this.#identities[index] ??= identity
      return identity !== this.#identities[index]
    })
  }
}
