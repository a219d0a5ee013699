/** @module Reads bodies from the archives beside a store file. A file that is not there, or cannot be read, is looked for again at the next read. */
import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import type { StoredRecord } from '../../../schemas/header.ts'
import { bodyInLine, placeIn } from '../archived-body.ts'

/** Appended to the path of the store's file. */
const FOLDER_SUFFIX = '.archives'
const OPEN_MAX = 16
/** A file is opened again after this time, in milliseconds: another one may have been put in its place, or it may have been taken away. */
const OPEN_FOR_MS = 1_000
/** No body is longer. A row that says more was not written by this program. */
const LINE_MAX_BYTES = 64 * 1024 * 1024

type Body = Pick<StoredRecord, 'salt' | 'data' | 'archive'>

/** The folder in which the archives of a store file are. */
export function archivesOf(storePath: string): string {
  return `${storePath}${FOLDER_SUFFIX}`
}

/** The size of the body that a row refers to, in bytes; undefined if the row holds its body itself. */
export function movedBytes(data: unknown): number | undefined {
  return typeof data === 'string' ? placeIn(data)?.bytes : undefined
}

export class ArchiveReader implements Disposable {
  readonly #folder: string
  readonly #open = new Map<string, { readonly file: number; readonly untilMs: number }>()

  constructor(storePath: string) {
    this.#folder = archivesOf(storePath)
  }

  /** Salt and body of a row; the row's own if they were not moved. */
  bodyOf(header: string, salt: Uint8Array, data: string): Body {
    const place = salt.length === 0 ? placeIn(data) : undefined
    if (place === undefined) return { salt, data }
    const { archive: name, offset, bytes } = place
    const line = bytes > LINE_MAX_BYTES ? '' : this.#read(name, offset, bytes)
    if (line === undefined) return { salt, data: '', archive: { name, exists: false } }
    return { ...(bodyInLine(line, header) ?? { salt, data: '' }), archive: { name, exists: true } }
  }

  #read(name: string, offset: number, bytes: number): string | undefined {
    try {
      const line = Buffer.alloc(bytes)
      const read = readSync(this.#fileOf(name), line, 0, bytes, offset)
      return line.toString('utf8', 0, read)
    } catch {
      this.#close(name)
      return undefined
    }
  }

  #fileOf(name: string): number {
    const known = this.#open.get(name)
    if (known !== undefined && performance.now() < known.untilMs) return known.file
    this.#close(name)
    const oldest = this.#open.size < OPEN_MAX ? undefined : this.#open.keys().next().value
    if (oldest !== undefined) this.#close(oldest)
    const file = openSync(join(this.#folder, `${name}.jsonl`), 'r')
    this.#open.set(name, { file, untilMs: performance.now() + OPEN_FOR_MS })
    return file
  }

  #close(name: string): void {
    const known = this.#open.get(name)
    this.#open.delete(name)
    if (known !== undefined) closeSync(known.file)
  }

  [Symbol.dispose](): void {
    for (const name of [...this.#open.keys()]) this.#close(name)
  }
}
