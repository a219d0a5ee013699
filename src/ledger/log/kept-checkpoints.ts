/**
 * @module The last checkpoint of every tenant, in a file beside the store: what a store that was restored from an old copy, or lost
 * its log, is held against. Only a checkpoint that somebody else keeps proves anything against whoever can write here.
 */
import { existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { replaceFile } from '../../signing/durable-file.ts'
import { LogStartError } from './log-deps.ts'

const KeptFile = z.strictObject({ v: z.literal(1), origin: z.string(), checkpoints: z.record(z.string(), z.string()) })

export interface Kept {
  readonly origin: string
  /** Signed note by tenant. */
  readonly checkpoints: ReadonlyMap<string, string>
}

export class KeptCheckpoints {
  readonly path: string
  #checkpoints: ReadonlyMap<string, string> = new Map()

  constructor(path: string) {
    this.path = path
  }

  /** What the file holds; undefined where there is none. Throws `LogStartError` `kept-checkpoints-damaged`. */
  load(): Kept | undefined {
    if (!existsSync(this.path)) return undefined
    const file = KeptFile.safeParse(parsed(readFileSync(this.path, 'utf8')))
    if (!file.success) {
      throw new LogStartError(
        'kept-checkpoints-damaged',
        `${this.path} is damaged: restore it, or move it away after "countersign verify"`,
      )
    }
    this.#checkpoints = new Map(Object.entries(file.data.checkpoints))
    return { origin: file.data.origin, checkpoints: this.#checkpoints }
  }

  /** Durable when it returns. Tenants that are not named keep what they have. */
  save(origin: string, notes: ReadonlyMap<string, string>): void {
    const merged = new Map([...this.#checkpoints, ...notes])
    if ([...notes].every(([tenant, note]) => this.#checkpoints.get(tenant) === note)) return
    const file = { v: 1, origin, checkpoints: Object.fromEntries(merged) }
    replaceFile(this.path, `${JSON.stringify(file, null, 2)}\n`)
    this.#checkpoints = merged
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
