/**
 * @module Keeps the last checkpoint of every tenant in a file next to the store. A store that was restored from an old copy, or that lost its log, is
 * checked against it. Against an attacker who can write here, only a checkpoint kept by a third party is evidence.
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
  /** Notes as the file has them; `#desired` are the notes that it should have. */
  #written: ReadonlyMap<string, string> = new Map()
  #desired: ReadonlyMap<string, string> = new Map()

  constructor(path: string) {
    this.path = path
  }

  /** Contents of the file; undefined if it does not exist. Throws `LogStartError` with code `kept-checkpoints-damaged`. */
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

  /** The signed note that is kept for a tenant, or that is still to be written. */
  note(tenant: string): string | undefined {
    return this.#desired.get(tenant)
  }

  /**
   * The notes are durable when this returns. Tenants not named keep their notes. Throws the system's error if the file cannot be written; the next
   * call then writes all missing notes, even if it names no tenant.
   */
  save(origin: string, notes: ReadonlyMap<string, string>): void {
    this.#desired = new Map([...this.#desired, ...notes])
    if ([...this.#desired].every(([tenant, note]) => this.#written.get(tenant) === note)) return
    const file = { v: 1, origin, checkpoints: Object.fromEntries(this.#desired) }
    replaceFile(this.path, `${JSON.stringify(file, null, 2)}\n`)
    this.#written = this.#desired
  }
}
