/** @module A file of a bundle: its size and digest are known before its content is produced, since the tar header and the manifest state them. */
import { createHash } from 'node:crypto'

export interface BundleFile {
  readonly name: string
  readonly size: number
  /** 64 lowercase hex digits. */
  readonly sha256: string
  readonly content: () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>
}

export function textFile(name: string, text: string): BundleFile {
  return bytesFile(name, Buffer.from(text))
}

export function bytesFile(name: string, bytes: Uint8Array): BundleFile {
  const measure = new Measure()
  measure.add(bytes)
  return { name, ...measure.result(), content: () => [bytes] }
}

/** Size and digest of the bytes that were added. */
export class Measure {
  #size = 0
  readonly #hash = createHash('sha256')

  add(bytes: string | Uint8Array): void {
    this.#size += typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.length
    this.#hash.update(bytes)
  }

  /** Total number of bytes so far. */
  get size(): number {
    return this.#size
  }

  /** Size and digest of all bytes so far. */
  result(): Pick<BundleFile, 'size' | 'sha256'> {
    return { size: this.#size, sha256: this.#hash.copy().digest('hex') }
  }
}

/** The store returned different bytes on the second read: the content would not match what was announced. */
export class ChangedContentError extends Error {
  readonly code = 'content-changed'

  constructor(name: string) {
    super(`${name} changed while the bundle was made: run "countersign verify"`)
    this.name = 'ChangedContentError'
  }
}

const PORTION_CHARS = 64 * 1024

/** A file of lines that is produced again from its source on each read. Throws `ChangedContentError`. */
export function linesFile(
  name: string,
  { size, sha256 }: Pick<BundleFile, 'size' | 'sha256'>,
  lines: () => AsyncIterable<string>,
): BundleFile {
  const content = async function* (): AsyncGenerator<Uint8Array, void> {
    const measure = new Measure()
    let text = ''
    const portion = (): Buffer => {
      const bytes = Buffer.from(text)
      text = ''
      measure.add(bytes)
      if (measure.size > size) throw new ChangedContentError(name)
      return bytes
    }
    for await (const line of lines()) {
      text += line
      if (text.length > PORTION_CHARS) yield portion()
    }
    const last = portion()
    if (measure.result().sha256 !== sha256) throw new ChangedContentError(name)
    yield last
  }
  return { name, size, sha256, content }
}
