/** @module What a file that leaves the ledger says that it lacks: the losses in its trailer or manifest, whether the store or a running ledger wrote it (LOG-49). */
import { isJsonObject, parseJsonOrUndefined } from '../../schemas/json.ts'
import { type Loss, lossesMember, lossesText } from '../../schemas/loss.ts'
import { Losses } from '../../schemas/loss-schema.ts'
import { trailerIn } from '../verify/view-export.ts'
import { EXIT, type ExitCode } from './failure.ts'
import { oneLine } from './shown.ts'

/** Longest trailer or manifest that is read, in bytes. */
const NAMED_MAX_BYTES = 1024 * 1024
const MANIFEST = 'manifest.json'
const BLOCK_BYTES = 512

export interface NamingFile {
  /** The same bytes, passed on. */
  readonly chunks: AsyncIterable<Uint8Array>
  /** Once all bytes were read: what the file names, and what the ledger itself knows to be lost. */
  readonly losses: () => readonly Loss[]
}

/**
 * Listens to a file while it is written. `open` is given a function to call with what the ledger knows, where it is at hand. `isBundle`: the file is a tar;
 * otherwise its last line is a trailer.
 */
export function namingFile(
  open: (onLosses: (losses: readonly Loss[]) => void) => AsyncIterable<Uint8Array>,
  isBundle: boolean,
): NamingFile {
  const listener = isBundle ? new ManifestListener() : new TrailerListener()
  let known: readonly Loss[] = []
  const source = open((losses) => {
    known = losses
  })
  const passedOn = async function* (): AsyncGenerator<Uint8Array, void> {
    for await (const chunk of source) {
      listener.take(chunk)
      yield chunk
    }
  }
  return {
    chunks: passedOn(),
    losses: () => lossesMember([...(Losses.safeParse(listener.found()).data ?? []), ...known]) ?? [],
  }
}

/** The exit code of a command with this in what it wrote; what is lost, and where, is named on standard error (LOG-49). */
export function exitCodeWith(losses: readonly Loss[]): ExitCode {
  if (losses.length === 0) return EXIT.ok
  sayIncomplete(losses)
  return EXIT.unproven
}

export function sayIncomplete(losses: readonly Loss[]): void {
  const lost = oneLine(lossesText(losses))
  process.stderr.write(`countersign: INCOMPLETE: lost: ${lost}. Run "countersign verify": it says what to do\n`)
}

/** Keeps the end of a file of lines. */
class TrailerListener {
  #parts: Buffer[] = []
  #bytes = 0

  take(chunk: Uint8Array): void {
    this.#parts.push(Buffer.from(chunk))
    this.#bytes += chunk.length
    while (this.#bytes - (this.#parts[0]?.length ?? 0) >= NAMED_MAX_BYTES)
      this.#bytes -= this.#parts.shift()?.length ?? 0
  }

  found(): unknown {
    const lines = Buffer.concat(this.#parts).toString('utf8').split('\n')
    // The last line of a batch closes its list.
    const last = lines.findLast((line) => line !== '' && line !== ']')
    const trailer = last === undefined ? undefined : trailerIn(last)
    return trailer?.losses
  }
}

/** Keeps the manifest of a tar as the ledger writes it: whole members of plain names, one behind the other. */
class ManifestListener {
  readonly #header = Buffer.alloc(BLOCK_BYTES)
  #headerBytes = 0
  /** Bytes of the member, with its padding, that are still to come. */
  #left = 0
  #size = 0
  #isManifest = false
  #manifest: Buffer[] = []

  take(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk)
    for (let at = 0; at < bytes.length; ) {
      const part = bytes.subarray(at, at + (this.#left > 0 ? this.#left : BLOCK_BYTES - this.#headerBytes))
      at += part.length
      if (this.#left > 0) this.#takeContent(part)
      else this.#takeHeader(part)
    }
  }

  found(): unknown {
    const text = Buffer.concat(this.#manifest).subarray(0, this.#size).toString('utf8')
    const statement = parseJsonOrUndefined(text)
    const predicate = isJsonObject(statement) ? statement.predicate : undefined
    return isJsonObject(predicate) ? predicate.losses : undefined
  }

  #takeContent(part: Buffer): void {
    if (this.#isManifest) this.#manifest.push(part)
    this.#left -= part.length
  }

  #takeHeader(part: Buffer): void {
    part.copy(this.#header, this.#headerBytes)
    this.#headerBytes += part.length
    if (this.#headerBytes < BLOCK_BYTES) return
    this.#headerBytes = 0
    const name = this.#header.toString('latin1', 0, 100).replace(/\0.*$/s, '')
    const size = Number.parseInt(this.#header.toString('latin1', 124, 135), 8) || 0
    this.#left = Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES
    this.#isManifest = name === MANIFEST && size <= NAMED_MAX_BYTES
    if (this.#isManifest) this.#size = size
  }
}
