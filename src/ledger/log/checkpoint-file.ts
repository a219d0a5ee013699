/**
 * @module The last checkpoint of every tenant, in a file beside the store: what a store that was restored from an old copy, or lost
 * its log, is checked against. Only a checkpoint that somebody else keeps proves anything against whoever can write here.
 */

import { existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { parseJsonOrUndefined } from '../../../schemas/json.ts'

import { replaceFile } from '../../signing/durable-file.ts'
import { LogStartError } from './log-deps.ts'

const FileForm = z.strictObject({ v: z.literal(1), origin: z.string(), checkpoints: z.record(z.string(), z.string()) })

export interface FiledCheckpoints {
  readonly origin: string
  /** Signed note by tenant. */
  readonly checkpoints: ReadonlyMap<string, string>
}

export class CheckpointFile {
  readonly path: string
  /** As the file has them, and as it should. */
  #written: ReadonlyMap<string, string> = new Map()
  #desired: ReadonlyMap<string, string> = new Map()

  constructor(path: string) {
    this.path = path
  }

  /** What the file holds; undefined where there is none. Throws `LogStartError` `kept-checkpoints-damaged`. */
  load(): FiledCheckpoints | undefined {
    if (!existsSync(this.path)) return undefined
    const file = FileForm.safeParse(parseJsonOrUndefined(this.#text()))
    if (!file.success) {
      throw new LogStartError(
        'kept-checkpoints-damaged',
        `${this.path} is damaged: restore it, or move it away after "countersign verify"`,
      )
    }
    this.#written = new Map(Object.entries(file.data.checkpoints))
    this.#desired = this.#written
    return { origin: file.data.origin, checkpoints: this.#written }
  }

  #text(): string {
    try {
      return readFileSync(this.path, 'utf8')
    } catch (error) {
      throw new LogStartError(
        'kept-checkpoints-damaged',
        `${this.path} cannot be read (${error instanceof Error ? error.message : error}): look at the disk and the limit of open files; restore it, or move it away after "countersign verify"`,
      )
    }
  }

  /** The signed note that is kept, or is to be. */
  note(tenant: string): string | undefined {
    return this.#desired.get(tenant)
  }

  /**
   * Durable when it returns. Tenants that are not named keep what they have. Throws the system's error where it cannot be written: the
   * next call writes what is missing, also one that names nobody.
   */
  save(origin: string, notes: ReadonlyMap<string, string>): void {
    this.#desired = new Map([...this.#desired, ...notes])
    if ([...this.#desired].every(([tenant, note]) => this.#written.get(tenant) === note)) return
    const file = { v: 1, origin, checkpoints: Object.fromEntries(this.#desired) }
    replaceFile(this.path, `${JSON.stringify(file, null, 2)}\n`)
    this.#written = this.#desired
  }
}
